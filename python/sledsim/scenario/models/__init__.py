"""The tables of a scenario as typed classes; tools/generate_scenario.py writes all but what they have in common."""
