// The graph view: nodes on a canvas, coloured by residual, at one evaluation of one solver.
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
function unpacked(text, width) {
  const values = [];
  for (let i = 0; i < text.length; i += width) {
    let value = 0;
    for (let j = 0; j < width; j++) value = 64 * value + LETTERS.indexOf(text[i + j]);
    values.push(value);
  }
  return values;
}
function mixed(stops, share) {
  const place = Math.min(1, Math.max(0, share)) * (stops.length - 1), first = Math.min(stops.length - 2, Math.floor(place));
  const at = (hex, i) => parseInt(hex.slice(1 + 2 * i, 3 + 2 * i), 16);
  const channel = (i) => Math.round(at(stops[first], i) + (place - first) * (at(stops[first + 1], i) - at(stops[first], i)));
  return `rgb(${channel(0)},${channel(1)},${channel(2)})`;
}
const SHADES = { light: ["#1c3f94", "#7a3fa8", "#d1477a", "#f0912b"], dark: ["#4f7df0", "#a06be0", "#f0709a", "#ffb454"] };

function setUpGraph(figure, graph) {
  const canvas = figure.querySelector("canvas"), pen = canvas.getContext("2d");
  const slider = figure.querySelector("input[type=range]"), play = figure.querySelector(".play");
  const state = figure.querySelector(".state"), pointed = figure.querySelector(".pointed");
  const places = unpacked(graph.positions, 2), ends = unpacked(graph.edges, 2);
  const [low, high] = graph.levels;
  for (const frames of Object.values(graph.frames)) for (const frame of frames) frame.values = unpacked(frame.residuals, 1);
  let solver = Object.keys(graph.frames)[0], timer = null, drawn = [];

  const frame = () => graph.frames[solver][Number(slider.value)];
  const exponent = (level) => low + (high - low) * level / 63;
  function locate(width, height) {
    const size = Math.min(width, height * 1.5), across = size - 28, down = Math.min(height, size) - 28;
    const left = (width - across) / 2, top = (height - down) / 2;
    drawn = [];
    for (let i = 0; i < places.length; i += 2) drawn.push([left + across * places[i] / 4095, top + down * places[i + 1] / 4095]);
  }
  function draw() {
    const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width) return;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    pen.scale(ratio, ratio);
    locate(width, height);
    pen.lineWidth = 0.6;
    pen.strokeStyle = colour("--soft");
    pen.globalAlpha = 0.22;
    pen.beginPath();
    for (let i = 0; i < ends.length; i += 2) {
      pen.moveTo(...drawn[ends[i]]);
      pen.lineTo(...drawn[ends[i + 1]]);
    }
    pen.stroke();
    const now = frame(), shades = SHADES[root.dataset.theme], ink = colour("--ink");
    const radius = Math.max(1.6, Math.min(3.4, Math.sqrt(width * height / drawn.length) / 7));
    const palette = Array.from({ length: 64 }, (_, level) => mixed(shades, level / 63));
    drawn.forEach(([x, y], i) => {
      const proven = now.certified[i] === "1";
      pen.globalAlpha = proven ? 1 : 0.75;
      pen.fillStyle = palette[now.values[i]];
      pen.beginPath();
      pen.arc(x, y, proven ? radius * 1.25 : radius * 0.8, 0, 2 * Math.PI);
      pen.fill();
      if (proven) {
        pen.lineWidth = 0.7;
        pen.strokeStyle = ink;
        pen.stroke();
      }
    });
    pen.globalAlpha = 1;
    figure.querySelector(".scale i").style.background = `linear-gradient(90deg, ${shades.join(",")})`;
    const share = 100 * now.share, words = `evaluation ${now.evaluation}: relative residual ${now.residual.toExponential(1)}, ${share.toFixed(1)}% of the nodes certified`;
    state.innerHTML = `After <strong>${now.evaluation}</strong> evaluation${now.evaluation === 1 ? "" : "s"}: relative residual <strong>${now.residual.toExponential(1)}</strong>, <strong>${share.toFixed(1)}%</strong> of the nodes certified.`;
    slider.setAttribute("aria-valuetext", words);
    canvas.dataset.evaluation = now.evaluation;
  }
  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  }
  function choose(name) {
    solver = name;
    slider.max = graph.frames[solver].length - 1;
    slider.value = Math.min(Number(slider.value), Number(slider.max));
    draw();
  }
  slider.addEventListener("input", () => { stop(); draw(); });
  play.addEventListener("click", () => {
    if (timer) return stop();
    if (slider.value === slider.max) slider.value = 0;
    play.textContent = "Pause";
    draw();
    timer = setInterval(() => {
      slider.value = Number(slider.value) + 1;
      draw();
      if (slider.value === slider.max) stop();
    }, 600);
  });
  figure.querySelectorAll(".choice input").forEach((input) => input.addEventListener("change", () => { stop(); choose(input.value); }));
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    let nearest = -1, best = 144;
    drawn.forEach(([a, b], i) => { const far = (a - x) ** 2 + (b - y) ** 2; if (far < best) { best = far; nearest = i; } });
    const now = frame();
    pointed.textContent = nearest < 0 ? "" : `node ${nearest}: residual ${(10 ** exponent(now.values[nearest])).toExponential(1)}, ${now.certified[nearest] === "1" ? "class certified" : "not certified yet"}`;
  });
  redraw.push(draw);
  new ResizeObserver(draw).observe(canvas);
  choose(solver);
}
if (data.graph) setUpGraph(document.querySelector(".graph"), data.graph);
