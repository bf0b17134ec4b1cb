"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const root = document.documentElement;
const dark = () => root.dataset.theme === "dark";
const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();

// Light or dark: what was chosen here before, else what the system says.
const redraw = [];
function setTheme(theme) {
  root.dataset.theme = theme;
  redraw.forEach((draw) => draw());
}
const system = matchMedia("(prefers-color-scheme: dark)");
const remembered = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
setTheme(remembered() || (system.matches ? "dark" : "light"));
system.addEventListener("change", (event) => { if (!remembered()) setTheme(event.matches ? "dark" : "light"); });
document.getElementById("theme").addEventListener("click", () => {
  setTheme(dark() ? "light" : "dark");
  try { localStorage.setItem("theme", root.dataset.theme); } catch { /* a file may not remember */ }
});

// A click on a heading sorts by it: numbers as numbers, empty cells last.
function sortBy(heading) {
  const table = heading.closest("table"), body = table.tBodies[0], column = heading.cellIndex;
  const ascending = heading.getAttribute("aria-sort") !== "ascending", sign = ascending ? 1 : -1;
  table.querySelectorAll("th").forEach((other) => other.setAttribute("aria-sort", "none"));
  heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  const keyed = [...body.rows].map((row) => {
    const cell = row.cells[column], value = cell.dataset.value;
    return { row, value: value === undefined ? null : cell.classList.contains("number") ? Number(value) : value };
  });
  keyed.sort((a, b) => {
    if (a.value === null || b.value === null) return (a.value === null) - (b.value === null);
    if (typeof a.value === "number" && typeof b.value === "number") return sign * (a.value - b.value);
    return sign * String(a.value).localeCompare(String(b.value), "en", { numeric: true });
  });
  body.append(...keyed.map((item) => item.row));
}
document.querySelectorAll("table.sortable th").forEach((heading) => heading.querySelector("button").addEventListener("click", () => sortBy(heading)));

// Plotly is packed into the page and unpacked once, when the first plot comes into view.
let loading = null;
function plotly() {
  loading ??= (async () => {
    const packed = atob(document.getElementById("plotly").textContent);
    const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    return window.Plotly;
  })();
  return loading;
}
const PALETTES = {
  light: ["#0a62a3", "#c4500a", "#00805f", "#a8518a", "#96690a", "#4a7d99", "#4f5864", "#7c5cc4"],
  dark: ["#63b6f2", "#ff9a5c", "#3fcfa4", "#e79cca", "#f0cf5a", "#9db8ff", "#bcc4cf", "#c3a8ff"],
};
function dressed(panel) {
  const ink = colour("--ink"), line = colour("--line"), soft = colour("--soft");
  const narrow = innerWidth < 640;
  const traces = panel.data.map((trace) => {
    const shade = PALETTES[root.dataset.theme][trace.meta.ink % 8];
    return { ...trace, line: { color: shade, width: 2 }, marker: { ...trace.marker, color: shade, size: trace.mode === "markers" ? 11 : 6 }, error_y: trace.error_y && { ...trace.error_y, color: shade } };
  });
  const axis = (given) => ({ gridcolor: line, zeroline: false, linecolor: line, automargin: true, ...given, title: { ...given.title, font: { size: 13, color: soft }, standoff: 8 } });
  return [traces, {
    ...panel.layout,
    xaxis: axis(panel.layout.xaxis), yaxis: axis(panel.layout.yaxis),
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 12, color: ink },
    margin: { l: narrow ? 46 : 56, r: 10, t: 8, b: 44 },
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
    showlegend: traces.length > 1,
    hoverlabel: { bgcolor: colour("--card"), bordercolor: line, font: { color: ink } },
    // On a touch screen a finger on a plot scrolls the page.
    dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
  }];
}
function setUpPlot(place) {
  const plot = data.plots[place.dataset.plot];
  let chosen = 0, visible = false;
  const draw = async () => {
    if (!visible) return;
    try {
      const library = await plotly();
      await library.react(place, ...dressed(plot.panels[chosen]), { displaylogo: false, responsive: true, displayModeBar: false });
      place.dataset.drawn = plot.panels[chosen].label;
    } catch (error) {
      place.classList.add("failed");
      place.textContent = "This browser cannot draw the plot (" + error.message + "); its numbers are in the tables.";
    }
  };
  new IntersectionObserver((entries, observer) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    visible = true;
    draw();
  }, { rootMargin: "400px" }).observe(place);
  place.closest("figure").querySelectorAll(".choice input").forEach((input) => input.addEventListener("change", () => { chosen = Number(input.value); draw(); }));
  redraw.push(draw);
}
document.querySelectorAll(".plot").forEach(setUpPlot);
