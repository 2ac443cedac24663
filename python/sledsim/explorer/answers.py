"""The answers to the questions of a lesson, as tables for teachers."""

from sledsim.explorer.lesson import Answer, Lesson, unit_of
from sledsim.show.tables import Table, number

__all__ = ["answer_tables"]


def answer_tables(lesson: Lesson) -> list[Table]:
    """Return a table of questions and answers for each step that has questions.

    Parameters
    ----------
    lesson
        The lesson. Its answers are simulated.
    """
    return [
        Table(
            ["question", "answer", "simulated"],
            [[answer.question.text.strip(), answer.text, _simulated(answer)] for answer in answers],
            title=step.title,
            notes=[answer.question.explanation.strip() for answer in answers if answer.question.explanation],
        )
        for step, answers in zip(lesson.steps, lesson.answers(), strict=True)
        if answers
    ]


def _simulated(answer: Answer) -> str:
    question, values = answer.question, answer.values
    if question.kind != "choice":
        return f"{question.metric}: {', '.join(_with_unit(value, question.metric) for value in values)}"
    pairs = zip(question.choices, values, strict=True)
    return "; ".join(f"{choice.text}: {_with_unit(value, choice.metric or question.metric)}" for choice, value in pairs)


def _with_unit(value: float, metric: str) -> str:
    return f"{number(value)} {unit_of(metric)}".rstrip()
