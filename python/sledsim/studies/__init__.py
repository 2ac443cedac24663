"""Questions that take several runs: each study is a room with what it runs, its tables and its charts."""
