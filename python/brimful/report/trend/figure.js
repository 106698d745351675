"use strict";
// The figure of a series: uPlot draws axes and values; intervals, levels, changes and labels are drawn around them.

const MOST_BARS = 3000;
const STEP = 0.5;

function colours() {
  const style = getComputedStyle(document.documentElement);
  return new Proxy({}, {get: (_, name) => style.getPropertyValue(`--${name}`).trim()});
}

// The ends of what is known of a version: its values, or the 95 % interval of the one.
function endsOf(series, index) {
  const value = series.values[index];
  if (value === null) return null;
  if (series.counts.length && series.counts[index] > 1) return [series.least[index], series.most[index]];
  const error = series.errors.length ? 1.96 * series.errors[index] : 0;
  return [value * Math.exp(-error), value * Math.exp(error)];
}

function extent(series, first, last) {
  let low = Infinity, high = -Infinity;
  const take = (a, b) => { low = Math.min(low, a); high = Math.max(high, b); };
  for (let index = Math.max(0, Math.ceil(first)); index <= Math.min(series.values.length - 1, last); index++) {
    const ends = endsOf(series, index);
    if (ends !== null) take(...ends);
  }
  for (const [start, end, value] of levelsOf(series)) if (end > first && start <= last) take(value, value);
  if (low > high) return [0, 1];
  const margin = (high - low || high * 0.02) * 0.08;
  return [low - margin, high + margin];
}

const levelsOf = (series) => (series.judgement ? series.judgement.levels : []);
const changesOf = (series) => (series.judgement ? series.judgement.changes : []);

function drawUnder(chart, series, paint) {
  const {ctx, bbox} = chart;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const change of changesOf(series)) {
    const left = chart.valToPos(change.earliest - STEP, "x", true), right = chart.valToPos(change.latest + STEP, "x", true);
    const stands = change.standing === "open" || change.standing === "accepted";
    ctx.globalAlpha = stands ? 0.22 : 0.1;
    ctx.fillStyle = change.kind === "regression" ? paint.bad : paint.good;
    ctx.fillRect(left, bbox.top, Math.max(right - left, 2 * devicePixelRatio), bbox.height);
  }
  ctx.restore();
}

function drawOver(chart, series, paint) {
  const {ctx, bbox} = chart;
  const x = (index) => chart.valToPos(index, "x", true), y = (value) => chart.valToPos(value, "y", true);
  const line = (x1, y1, x2, y2) => { ctx.beginPath(); ctx.moveTo(x1, y1); ctx.lineTo(x2, y2); ctx.stroke(); };
  const first = Math.max(0, Math.floor(chart.scales.x.min)), last = Math.min(series.values.length - 1, Math.ceil(chart.scales.x.max));
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  if (last - first <= MOST_BARS) {
    for (let index = first; index <= last; index++) {
      const ends = endsOf(series, index);
      ctx.lineWidth = 2 * devicePixelRatio;
      if (ends === null) {
        ctx.strokeStyle = paint["level-above"];
        const size = 4 * devicePixelRatio, at = bbox.top + bbox.height - 2 * size;
        line(x(index) - size, at - size, x(index) + size, at + size);
        line(x(index) - size, at + size, x(index) + size, at - size);
      } else if (ends[0] < ends[1]) {
        ctx.globalAlpha = 0.55;
        ctx.strokeStyle = paint["goal-0"];
        line(x(index), y(ends[0]), x(index), y(ends[1]));
        ctx.globalAlpha = 1;
      }
    }
  }
  ctx.strokeStyle = paint.ink;
  ctx.lineWidth = 2 * devicePixelRatio;
  for (const [start, end, value] of levelsOf(series)) line(x(start - STEP), y(value), x(end - STEP), y(value));
  drawLabels(chart, series, paint, line, x);
  ctx.restore();
}

// A dotted line where labels changed, with what they changed to as far as there is room.
function drawLabels(chart, series, paint, line, x) {
  const {ctx, bbox} = chart;
  let free = -Infinity;
  ctx.strokeStyle = ctx.fillStyle = paint["goal-1"];
  ctx.lineWidth = 1.5 * devicePixelRatio;
  ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.textBaseline = "top";
  for (const [index, text] of labelChanges(series)) {
    const at = x(index - STEP);
    if (at < bbox.left - 1 || at > bbox.left + bbox.width) continue;
    line(at, bbox.top, at, bbox.top + bbox.height);
    const shown = short(text, 28), width = ctx.measureText(shown).width + 8 * devicePixelRatio;
    const left = at + width > bbox.left + bbox.width ? at - width : at + 4 * devicePixelRatio;
    if (left < free || left < bbox.left) continue;
    ctx.fillText(shown, left, bbox.top + 3 * devicePixelRatio);
    free = left + width;
  }
  ctx.setLineDash([]);
}

// Index of each version whose labels are others than those before it, with what they are now.
function labelChanges(series) {
  const found = [];
  for (let place = 1; place < series.labels.length; place++) {
    const [index, now] = series.labels[place], before = series.labels[place - 1][1];
    const changed = Object.keys(now).filter((name) => now[name] !== before[name]);
    if (changed.length) found.push([index, changed.map((name) => `${name} ${now[name]}`).join(", ")]);
  }
  return found;
}

function tick(series, index) {
  if (!Number.isInteger(index) || series.versions[index] === undefined) return "";
  const date = series.times.length ? dateOf(series.times[index]) : "";
  return short(series.versions[index], 12) + (date ? `\n${date}` : "");
}

// Draws a series into a place; gives what moves about in it. `seen` gets the index of the version under the pointer.
function makeFigure(place, series, seen) {
  const count = series.versions.length;
  const whole = [-STEP, Math.max(count - STEP, STEP)];
  let chart = null, chosen = null, shown = whole;
  const unit = series.ratio ? "ratio" : series.unit;

  // uPlot asks for the range of x before that of y, and sets both only afterwards.
  function rangeOf(low, high) {
    shown = low === null || (low <= 0 && high >= count - 1) ? whole : [low, high];
    return shown;
  }

  function options(paint, width) {
    const most = extent(series, ...whole)[1], [scale, prefix] = prefixOf(most, unit);
    const axis = {stroke: paint.muted, grid: {stroke: paint.grid, width: 1}, ticks: {stroke: paint.grid, width: 1}, font: "12px system-ui, sans-serif"};
    return {
      width, height: width < 500 ? 280 : 380,
      legend: {show: false},
      cursor: {y: false, drag: {x: true, y: false, dist: 6}, points: {size: 9}},
      scales: {x: {time: false, range: (_, low, high) => rangeOf(low, high)}, y: {range: () => extent(series, ...shown)}},
      axes: [
        {...axis, size: series.times.length ? 56 : 40, space: width < 500 ? 78 : 96, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5, 1e6], values: (_, at) => at.map((index) => tick(series, index))},
        {...axis, size: 62, label: unit ? (unit === "ratio" ? unit : prefix + (unit.includes("/") && prefix ? " " : "") + unit) : prefix, labelSize: unit || prefix ? 20 : 0, labelFont: axis.font,
         values: (_, at) => at.map((value) => grouped.format(Number((value / scale).toPrecision(8))))},
      ],
      series: [{}, {stroke: paint["goal-0"], width: 1, points: {size: 5, fill: paint["goal-0"]}}],
      hooks: {
        drawAxes: [(self) => drawUnder(self, series, paint)],
        draw: [(self) => drawOver(self, series, paint)],
        setCursor: [(self) => { if (self.cursor.idx !== null && self.cursor.left >= 0) seen(self.cursor.idx); }],
      },
    };
  }

  function make() {
    const range = shown;
    if (chart) chart.destroy();
    chart = new uPlot(options(colours(), Math.max(place.clientWidth, 200)), [series.versions.map((_, index) => index), series.values], place);
    show(range);
  }

  function show([low, high]) {
    const width = Math.min(Math.max(high - low, 2 * STEP), whole[1] - whole[0]);
    low = Math.min(Math.max(low, whole[0]), whole[1] - width);
    chart.batch(() => chart.setScale("x", {min: low, max: low + width}));
  }

  function zoom(factor) {
    const [min, max] = shown, middle = chosen !== null && chosen >= min && chosen <= max ? chosen : (min + max) / 2;
    show([middle - (middle - min) * factor, middle + (max - middle) * factor]);
  }

  function choose(index) {
    chosen = Math.min(Math.max(index, 0), count - 1);
    const [min, max] = shown;
    if (chosen < min || chosen > max) show([chosen - (max - min) / 2, chosen + (max - min) / 2]);
    const value = series.values[chosen];
    chart.setCursor({left: chart.valToPos(chosen, "x"), top: value === null ? 0 : chart.valToPos(value, "y")}, false);
    seen(chosen);
  }

  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", make);
  const watch = new ResizeObserver(() => { if (chart && place.clientWidth && place.clientWidth !== chart.width) make(); });
  make();
  watch.observe(place);
  return {
    zoom, choose,
    showAll: () => show(whole),
    shown: () => shown,
    under: () => chart.cursor.idx,
    over: () => chart.over,
    destroy() { scheme.removeEventListener("change", make); watch.disconnect(); chart.destroy(); },
  };
}
