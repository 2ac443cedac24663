/* One misuse after the other, each with the name of what it is answered. */
#include <stdio.h>
#include <string.h>

#include "sledsim.h"

static void says(const char *what, int code)
{
    printf("%s: %s%s%.60s\n", what, sledsim_code_name(code), code < 0 ? ": " : "", code < 0 ? sledsim_message() : "");
}

int main(void)
{
    sledsim_session session, other;
    sledsim_completion_t back;
    uint64_t number;
    size_t length;
    char small[4];

    says("open nothing", sledsim_open(NULL, NULL, NULL, NULL, 0, &session));
    says("open into nothing", sledsim_open("", NULL, NULL, NULL, 0, NULL));
    says("no text", sledsim_open("\xff", NULL, NULL, NULL, 0, &session));
    says("no format", sledsim_open("", "xml", NULL, NULL, 0, &session));
    says("no system", sledsim_open("[system]\ndevice = \"g22\"", NULL, NULL, NULL, 0, &session));
    printf("%s\n", strstr(sledsim_faults(), "\"suggestion\":\"g2\"") ? "g2 is suggested" : sledsim_faults());
    says("no file", sledsim_open_file("missing.toml", NULL, 0, &session));
    says("zero", sledsim_close(0));
    says("made up", sledsim_advance(12345, 0));

    says("open", sledsim_open("[system]\ndevice = \"g2\"", NULL, NULL, NULL, 0, &session));
    says("submit", sledsim_submit(session, 8, 8, SLEDSIM_READ, 1000, &number));
    says("submit earlier", sledsim_submit(session, 8, 8, SLEDSIM_READ, 999, NULL));
    says("submit what", sledsim_submit(session, 8, 8, 5, 1000, NULL));
    says("beyond the clock", sledsim_submit(session, 8, 8, SLEDSIM_READ, UINT64_MAX, NULL));
    says("not back yet", sledsim_completion_of(session, number, &back));
    says("never handed in", sledsim_completion_of(session, number + 1, &back));
    says("advance", sledsim_advance(session, 50000000));
    says("advance back", sledsim_advance(session, 49999999));
    says("fetch", sledsim_completion_of(session, number, &back));
    says("fetch twice", sledsim_completion_of(session, number, &back));
    says("nothing left", sledsim_completion(session, &back));
    says("fetch into nothing", sledsim_completion(session, NULL));
    says("nothing to come", sledsim_next_event(session, &number));
    says("too small", sledsim_result(session, small, sizeof small, &length));
    says("snapshot", sledsim_snapshot(session, &other));
    says("close", sledsim_close(session));
    says("close twice", sledsim_close(session));
    says("use after close", sledsim_submit(session, 8, 8, SLEDSIM_READ, 1000, NULL));
    says("restore from what is closed", sledsim_restore(other, session));
    says("open again", sledsim_open("[system]\ndevice = \"g2\"", NULL, NULL, NULL, 0, &number));
    says("the place is taken, the number is not", sledsim_now(session, &number));
    says("open another system", sledsim_open("[system]\ndevice = \"g1\"", NULL, NULL, NULL, 0, &session));
    says("restore from another system", sledsim_restore(other, session));
    return 0;
}
