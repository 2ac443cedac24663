(() => {
  "use strict";
  // Room in px that a panel needs beside its plot, for the axis with its labels.
  const AXIS = 80, GAP = 20, NARROW = 560, LEAST = 230;

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
    } else if (isNumber(part.width)) {
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

  async function draw(place) {
    const definition = JSON.parse(document.getElementById(place.dataset.definition).textContent);
    const room = place.clientWidth - 8;
    if (room < NARROW) lowerLegends(definition, room < 480 ? 1 : 2);
    fit(definition, room);
    await vegaEmbed(place, definition, { renderer: "svg", actions: false });
    place.dataset.drawn = "true";
  }

  async function drawAll() {
    for (const place of document.querySelectorAll(".chart")) {
      try {
        await draw(place);
      } catch (error) {
        place.textContent = `This chart can't be drawn: ${error.message}. Its files are below.`;
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
