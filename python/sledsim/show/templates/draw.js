(() => {
  "use strict";
  // Room in px that a panel needs beside its plot, for the axis with its labels.
  const AXIS = 80, GAP = 20, NARROW = 560, LEAST = 230;
  // The widest plot, and the widest square one, that take the room that there is.
  const MOST_WIDE = 1100, MOST_SQUARE = 640, TALLER = 1.5;

  const isNumber = (value) => typeof value === "number";
  const legends = ["color", "fill", "stroke", "strokeDash", "shape", "size", "opacity", "strokeWidth"];

  // The width in px of the plots of a definition, side by side.
  function widthOf(part) {
    if (part.hconcat) return part.hconcat.reduce((sum, each) => sum + widthOf(each) + GAP, -GAP);
    if (part.vconcat || part.concat) return Math.max(...(part.vconcat || part.concat).map(widthOf));
    return (isNumber(part.width) ? part.width : 300) + AXIS;
  }

  // Narrow panels that have no room beside each other, or let them stand below each other; none is wider than the page.
  function fit(part, room) {
    if (part.hconcat && widthOf(part) > room) {
      const share = (room - (part.hconcat.length - 1) * GAP) / part.hconcat.length;
      if (share - AXIS >= LEAST) {
        part.hconcat.forEach((each) => fit(each, share));
        return;
      }
      const widest = Math.max(...part.hconcat.map(widthOf)) + GAP;
      part.concat = part.hconcat;
      part.columns = Math.max(1, Math.floor((room + GAP) / widest));
      delete part.hconcat;
    }
    const inner = part.hconcat || part.vconcat || part.concat;
    if (inner) {
      inner.forEach((each) => fit(each, room));
    } else if (part.spec) {
      const panel = (isNumber(part.spec.width) ? part.spec.width : 200) + GAP;
      part.columns = Math.max(1, Math.min(part.columns || 99, Math.floor((room - AXIS) / panel)));
      fit(part.spec, room);
    } else if (isNumber(part.width) && !part.autosize) {
      part.width = Math.min(part.width, room - AXIS);
    }
  }

  // Set legends below the plot, in columns that fit.
  function lowerLegends(part, columns) {
    [...(part.layer || []), ...(part.hconcat || []), ...(part.vconcat || []), ...(part.concat || [])].forEach((each) =>
      lowerLegends(each, columns)
    );
    if (part.spec) lowerLegends(part.spec, columns);
    for (const channel of legends) {
      const encoded = part.encoding && part.encoding[channel];
      if (encoded && (encoded.field || encoded.datum !== undefined) && encoded.legend !== null) {
        const continuous = encoded.type === "quantitative" && channel !== "size";
        const below = continuous ? { direction: "horizontal" } : { direction: "vertical", columns };
        encoded.legend = { ...encoded.legend, orient: "bottom", ...below };
      }
    }
  }

  // Let a chart take the room that there is: a single plot as much as its legend leaves, plots over each other alike.
  function fill(definition, room) {
    const plots = definition.vconcat || [definition];
    if (plots.some((each) => !isNumber(each.width) || each.spec || each.hconcat)) return;
    const square = plots.some((each) => each.width === each.height);
    const wide = square ? Math.min(room - 2 * AXIS, MOST_SQUARE) : Math.min(room, MOST_WIDE);
    if (wide <= plots[0].width) return;
    if (square) {
      plots.forEach((each) => Object.assign(each, { width: wide, height: wide * (each.height / each.width) }));
    } else if (definition.vconcat) {
      plots.forEach((each) => Object.assign(each, { width: wide - 2 * AXIS }));
    } else {
      const height = definition.height * Math.min(wide / definition.width, TALLER) + AXIS;
      Object.assign(definition, { width: wide, height, autosize: { type: "fit", contains: "padding" } });
    }
  }

  // Write a chart's title above it, where it wraps.
  function raiseTitle(place, definition) {
    const title = definition.title;
    delete definition.title;
    if (!title || (place.previousElementSibling || {}).className === "chart-title") return;
    const head = document.createElement("div");
    head.className = "chart-title";
    const lines = (text) => (Array.isArray(text) ? text : [text]).filter(Boolean);
    const told = typeof title === "string" ? { text: title } : title;
    const parts = [...lines(told.text).map((line) => ["b", line]), ...lines(told.subtitle).map((line) => ["p", line])];
    for (const [tag, line] of parts) head.appendChild(document.createElement(tag)).textContent = line;
    place.before(head);
  }

  async function draw(place) {
    const definition = JSON.parse(document.getElementById(place.dataset.definition).textContent);
    const room = place.clientWidth - 8;
    raiseTitle(place, definition);
    definition.background = "transparent";
    if (room < NARROW) lowerLegends(definition, room < 480 ? 1 : 2);
    if (place.dataset.fill) fill(definition, room);
    fit(definition, room);
    await vegaEmbed(place, definition, { renderer: "svg", actions: false });
    place.dataset.drawn = "true";
  }

  async function drawAll() {
    for (const place of document.querySelectorAll(".chart")) {
      try {
        await draw(place);
      } catch (error) {
        place.textContent = `This chart can't be drawn: ${error.message}.`;
      }
    }
    document.documentElement.dataset.drawn = "true";
  }

  let width = document.documentElement.clientWidth, waiting;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (document.documentElement.clientWidth === width) return;
      width = document.documentElement.clientWidth;
      drawAll();
    }, 300);
  });
  drawAll();
})();
