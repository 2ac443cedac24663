// Lessons: steps with a text, a scenario and questions, whose answers are computed by running scenarios.
import { textElements } from "./markdown";
import { type Column, get, type Json, type Scenario } from "./scenario";
import { shown } from "./theme";

interface QuestionBase {
  text: string;
  metric: string;
  unit: string;
  hint: string;
  explanation: string;
}

interface ChoiceQuestion extends QuestionBase {
  kind: "choice";
  right: "lowest" | "highest";
  choices: { text: string; metric: string; unit: string; scenario: Scenario }[];
}

interface NumberQuestion extends QuestionBase {
  kind: "number";
  scenario: Scenario;
  /** If present, the answer is the ratio to the metric of this scenario. */
  relative_to: Scenario | null;
  tolerance_percent: number;
}

interface GoalQuestion extends QuestionBase {
  kind: "goal";
  at_most: number | null;
  at_least: number | null;
  /** Keys that must be as in the step. */
  keep: string[];
}

type Question = ChoiceQuestion | NumberQuestion | GoalQuestion;

interface Step {
  title: string;
  text: string;
  view: string;
  scenario: Scenario;
  others: Column[];
  at_ms: number;
  speed_ms_per_s: number | null;
  questions: Question[];
}

export interface Lesson {
  title: string;
  summary: string;
  minutes: number;
  steps: Step[];
}

/** What the page does for a lesson. */
export interface Stage {
  /** Runs the scenario of a step and shows it. */
  show(step: { scenario: Scenario; others: Column[]; atMs: number; speed: number | null }): void;
  /** Puts a view beside the lesson; puts all views back at "". */
  place(view: string): void;
  /** Returns the scenario that the page shows, with every key. */
  present(): Scenario;
  /** Returns a scenario with every key. */
  complete(scenario: Scenario): Scenario;
  /** Returns the numbers of a run by path, such as `response.mean_ms`. */
  numbers(scenario: Scenario): Record<string, number>;
}

export interface Verdict {
  isRight: boolean;
  /** What the simulator found. */
  found: string;
  /** What to do, if the answer is wrong. */
  advice: string;
}

/** Returns the value of a metric in a run. */
function value(metric: string, scenario: Scenario, stage: Stage): number {
  const found = stage.numbers(scenario)[metric];
  if (found === undefined) throw new Error(`The result of the run has no ${metric}.`);
  return found;
}

const withUnit = (number: number, unit: string) => `${shown(number)}${unit ? ` ${unit}` : ""}`;

/** Returns the values of the choices, and the index of the right one. */
export function rightChoice(question: ChoiceQuestion, stage: Stage): { values: number[]; right: number } {
  const values = question.choices.map(({ metric, scenario }) => value(metric, scenario, stage));
  return { values, right: values.indexOf(question.right === "lowest" ? Math.min(...values) : Math.max(...values)) };
}

/** Returns the right number. */
export function rightNumber(question: NumberQuestion, stage: Stage): number {
  const found = value(question.metric, question.scenario, stage);
  return question.relative_to ? found / value(question.metric, question.relative_to, stage) : found;
}

/** Checks an answer: the index of a choice, or a number; a goal is checked on the scenario that the page shows. */
export function check(question: Question, step: Step, given: number, stage: Stage): Verdict {
  if (question.kind === "choice") {
    const { values, right } = rightChoice(question, stage);
    const list = question.choices.map(({ text, unit }, index) => `${text}: ${withUnit(values[index]!, unit)}`);
    const isRight = given === right;
    return { isRight, found: isRight ? `Simulated: ${list.join("; ")}.` : "", advice: "" };
  }
  if (question.kind === "number") {
    const right = rightNumber(question, stage);
    const isRight = Math.abs(given - right) <= (question.tolerance_percent / 100) * Math.abs(right);
    const advice = `The right number is ${given > right ? "smaller" : "larger"}.`;
    return { isRight, found: isRight ? `Simulated: ${withUnit(right, question.unit)}.` : "", advice };
  }
  const present = stage.present();
  const own = stage.complete(step.scenario);
  const changed = question.keep.filter((key) => JSON.stringify(get(present, key)) !== JSON.stringify(get(own, key)));
  if (changed.length > 0) {
    const advice = `Leave ${changed.join(" and ")} as in this step: press “Set the page to this step”, then change other controls.`;
    return { isRight: false, found: "", advice };
  }
  const found = value(question.metric, present, stage);
  const isRight = (question.at_most === null || found <= question.at_most) && (question.at_least === null || found >= question.at_least);
  return { isRight, found: `Your setting gives ${withUnit(found, question.unit)}.`, advice: "" };
}

/** Returns the bound of a goal in words. */
function bound(question: GoalQuestion): string {
  const bounds = [
    ...(question.at_most === null ? [] : [`at most ${withUnit(question.at_most, question.unit)}`]),
    ...(question.at_least === null ? [] : [`at least ${withUnit(question.at_least, question.unit)}`]),
  ];
  return bounds.join(" and ");
}

/** Wrong answers after which the right one can be shown. */
const TRIES = 2;

interface Progress {
  given: number | null;
  isRight: boolean;
  tries: number;
  message: string;
}

function made<K extends keyof HTMLElementTagNameMap>(tag: K, text = "", className = ""): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  element.textContent = text;
  if (className) element.className = className;
  return element;
}

function button(text: string, act: () => void): HTMLButtonElement {
  const element = made("button", text);
  element.type = "button";
  element.onclick = act;
  return element;
}

/** The view of the lessons: the choice of a lesson, and the step that is open. */
export class LessonView {
  private readonly progress = new WeakMap<Question, Progress>();
  private open: { lesson: Lesson; step: number } | null = null;

  constructor(
    private readonly lessons: Lesson[],
    private readonly stage: Stage,
    private readonly box: HTMLElement,
    private readonly choice: HTMLSelectElement,
  ) {
    choice.add(new Option("none", ""));
    lessons.forEach(({ title }, index) => choice.add(new Option(`${index + 1}. ${title}`, String(index))));
    choice.onchange = () => (choice.value === "" ? this.close() : this.start(Number(choice.value)));
    (choice.closest("label") ?? choice).hidden = lessons.length === 0;
  }

  /** Opens a lesson at its first step. */
  start(index: number): void {
    const lesson = this.lessons[index];
    if (!lesson) return;
    this.choice.value = String(index);
    this.go(lesson, 0);
  }

  close(): void {
    this.open = null;
    this.choice.value = "";
    this.box.hidden = true;
    this.stage.place("");
  }

  /** Returns the place in a lesson, for links. */
  get place(): { lesson: number; step: number } | null {
    return this.open && { lesson: this.lessons.indexOf(this.open.lesson), step: this.open.step };
  }

  /** Opens the step of a link without its scenario, which the link has itself. */
  restore({ lesson, step }: { lesson: number; step: number }): void {
    const found = this.lessons[lesson];
    if (!found?.steps[step]) return;
    this.choice.value = String(lesson);
    this.open = { lesson: found, step };
    this.stage.place(found.steps[step]!.view);
    this.draw();
  }

  private go(lesson: Lesson, index: number): void {
    this.open = { lesson, step: index };
    const step = lesson.steps[index]!;
    this.stage.place(step.view);
    this.set(step);
    this.draw();
    this.box.querySelector<HTMLElement>("h2")?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }

  private set(step: Step): void {
    this.stage.show({ scenario: step.scenario, others: step.others, atMs: step.at_ms, speed: step.speed_ms_per_s });
  }

  private draw(): void {
    if (!this.open) return;
    const { lesson, step: index } = this.open;
    const step = lesson.steps[index]!;
    const heading = made("h2", step.title);
    heading.tabIndex = -1;
    heading.id = "lesson-title";
    const last = index === lesson.steps.length - 1;
    const steps = made("div", "", "copies");
    const back = button("Back", () => this.go(lesson, index - 1));
    back.disabled = index === 0;
    const next = button(last ? "End the lesson" : "Next step", () => (last ? this.close() : this.go(lesson, index + 1)));
    next.className = "primary";
    steps.append(back, button("Set the page to this step", () => this.set(step)), next);
    const all = lesson.steps.flatMap(({ questions }) => questions);
    const right = all.filter((question) => this.progress.get(question)?.isRight).length;
    const where = `${lesson.title}: step ${index + 1} of ${lesson.steps.length}, about ${lesson.minutes} minutes in all. ${right} of ${all.length} questions answered.`;
    this.box.replaceChildren(
      made("p", where, "hint"),
      heading,
      ...textElements(step.text),
      ...step.questions.map((question, number) => this.question(question, step, `question-${index}-${number}`)),
      steps,
    );
    this.box.hidden = false;
  }

  private question(question: Question, step: Step, id: string): HTMLElement {
    const at = this.progress.get(question) ?? { given: null, isRight: false, tries: 0, message: "" };
    this.progress.set(question, at);
    const form = made("form", "", "question");
    const set = made("fieldset");
    const legend = made("legend");
    legend.append(...textElements(question.text).flatMap((each) => [...each.childNodes, " "]));
    set.append(legend);
    const outcome = made("p", at.message, `outcome ${at.isRight ? "right" : at.tries > 0 ? "wrong" : ""}`);
    outcome.setAttribute("role", "status");
    const given = this.inputs(question, set, at, id);
    const row = made("div", "", "copies");
    const submit = made("button", question.kind === "goal" ? "Check my setting" : "Check");
    submit.type = "submit";
    row.append(submit);
    const reveal = button("Show the answer", () => {
      outcome.className = "outcome";
      outcome.textContent = `${this.answer(question)} ${question.explanation}`.trim();
    });
    reveal.hidden = question.kind === "goal" || at.isRight || at.tries < TRIES;
    row.append(reveal);
    form.onsubmit = (event) => {
      event.preventDefault();
      const answer = given();
      if (answer === null) {
        outcome.className = "outcome wrong";
        outcome.textContent = question.kind === "choice" ? "Choose one of the answers first." : "Type a number first.";
        return;
      }
      try {
        const { isRight, found, advice } = check(question, step, answer, this.stage);
        at.tries += isRight ? 0 : 1;
        Object.assign(at, { given: answer, isRight });
        const texts = isRight ? ["Right.", found, question.explanation] : ["Not yet.", found, advice, question.hint];
        at.message = texts.filter(Boolean).join(" ");
        const count = this.box.querySelector(".hint");
        if (count) count.textContent = count.textContent!.replace(/\d+ of (\d+) questions.*/, (_, all) => `${this.answered()} of ${all} questions answered.`);
      } catch (error) {
        at.message = error instanceof Error ? error.message : String(error);
      }
      outcome.className = `outcome ${at.isRight ? "right" : "wrong"}`;
      outcome.textContent = at.message;
      reveal.hidden = question.kind === "goal" || at.isRight || at.tries < TRIES;
    };
    form.append(set, row, outcome);
    return form;
  }

  private answered(): number {
    const all = this.open?.lesson.steps.flatMap(({ questions }) => questions) ?? [];
    return all.filter((question) => this.progress.get(question)?.isRight).length;
  }

  /** Adds the inputs of a question, and returns a function that reads them. */
  private inputs(question: Question, set: HTMLElement, at: Progress, id: string): () => number | null {
    if (question.kind === "choice") {
      question.choices.forEach(({ text }, index) => {
        const label = made("label", "", "choice");
        const input = made("input");
        Object.assign(input, { type: "radio", name: id, value: String(index), checked: at.given === index });
        label.append(input, ` ${text}`);
        set.append(label);
      });
      return () => {
        const checked = set.querySelector<HTMLInputElement>("input:checked");
        return checked ? Number(checked.value) : null;
      };
    }
    if (question.kind === "number") {
      const label = made("label", "Your answer ");
      const input = made("input");
      Object.assign(input, { type: "text", inputMode: "decimal", id, value: at.given === null ? "" : String(at.given), autocomplete: "off" });
      label.append(input, ` ${question.unit || (question.relative_to ? "times" : "")}`);
      set.append(label);
      return () => {
        const number = Number(input.value.trim().replace(",", "."));
        return input.value.trim() === "" || !Number.isFinite(number) ? null : number;
      };
    }
    set.append(made("p", `Goal: ${bound(question)}.`, "hint"));
    return () => 0;
  }

  private answer(question: Question): string {
    if (question.kind === "choice") return `The answer: ${question.choices[rightChoice(question, this.stage).right]!.text}.`;
    if (question.kind === "number") return `The answer: ${withUnit(rightNumber(question, this.stage), question.unit)}.`;
    return "";
  }
}

/** Returns the lessons of a page; throws an Error if they are damaged. */
export function lessonsOf(start: { lessons?: Json }): Lesson[] {
  return (start.lessons ?? []) as unknown as Lesson[];
}
