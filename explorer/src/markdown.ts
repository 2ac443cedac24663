// The texts of lessons: paragraphs, lists with "-", *emphasis* and `code`.

/** Returns the elements of a text. */
export function textElements(text: string): HTMLElement[] {
  return text
    .trim()
    .split(/\n\s*\n/)
    .map((block) => {
      const lines = block.split("\n").map((line) => line.trim());
      if (!lines.every((line) => line.startsWith("- "))) return withSpans("p", lines.join(" "));
      const list = document.createElement("ul");
      list.append(...lines.map((line) => withSpans("li", line.slice(2))));
      return list;
    });
}

function withSpans(tag: string, text: string): HTMLElement {
  const element = document.createElement(tag);
  for (const part of text.split(/(`[^`]+`|\*[^*\s][^*]*\*)/)) {
    const name = part.startsWith("`") && part.length > 2 ? "code" : part.startsWith("*") && part.length > 2 ? "em" : "";
    if (name) {
      const span = document.createElement(name);
      span.textContent = part.slice(1, -1);
      element.append(span);
    } else element.append(part);
  }
  return element;
}
