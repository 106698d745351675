"use strict";
// The page of one series: its figure, its changes, what people said, all values.

const MOST_VALUES = 2000, MOST_MACHINES = 20;
let figure = null, shownSeries = null, current = 0, pinned = false;

function showSeries(series) {
  shownSeries = series;
  pinned = false;
  current = series.versions.length - 1;
  const said = series.judgement;
  document.title = series.name;
  byId("name").textContent = kept(series.name);
  byId("verdict").replaceChildren(badge(said ? said.state : "not checked"), ` ${said ? kept(said.text) : ""}`, ...(said && said.confirmation && !said.text.includes(said.confirmation) ? [`; live comparison: ${said.confirmation}`] : []));
  const others = onOtherMachines(series);
  byId("machines").hidden = !others.length;
  byId("machines").replaceChildren("On other machines: ", ...others.flatMap((each, place) => [place ? ", " : "", linkTo(each.id, each.name)]));
  byId("stale").hidden = !said || said.current;
  byId("stale").textContent = said ? `Checked up to ${said.version}; later versions are shown, and were not judged yet.` : "";
  byId("index").hidden = true;
  byId("series").hidden = false;
  if (figure) figure.destroy();
  figure = series.versions.length ? makeFigure(byId("figure"), series, seen) : null;
  if (figure) figure.over().addEventListener("click", pin);
  byId("figure").setAttribute("aria-label", `Versions of ${series.name}`);
  byId("figure").setAttribute("aria-valuemin", 0);
  byId("figure").setAttribute("aria-valuemax", Math.max(current, 0));
  byId("key").replaceChildren(...keyOf(series));
  if (figure) readOut(current); else byId("readout").textContent = "There are no versions.";
  byId("changes").replaceChildren(...changesTable(series));
  byId("words").replaceChildren(...wordsList(series));
  byId("facts").replaceChildren(...factRows(series));
  const values = byId("values");
  values.open = false;
  values.replaceChildren(values.firstElementChild);
  scrollTo(0, 0);
  byId("name").focus({preventScroll: true});
}

// Another machine is another series: what it measured is a link away.
function onOtherMachines(series) {
  if (!series.key.machine) return [];
  const [before] = series.name.split(` on ${series.key.machine}`);
  return listed.series.filter((each) => each.id !== wanted && each.name.startsWith(`${before} on `)).slice(0, MOST_MACHINES);
}

function hideSeries() {
  if (figure) figure.destroy();
  figure = shownSeries = null;
  byId("series").hidden = true;
}

function seen(index) {
  if (!pinned) readOut(index);
}

// A click keeps the run under the pointer, so that the way to its link changes nothing; the next one lets it go.
function pin() {
  pinned = !pinned;
  readOut(pinned ? current : figure.under() ?? current);
}

function labelsAt(series, index) {
  let found = {};
  for (const [first, labels] of series.labels) {
    if (first > index) break;
    found = labels;
  }
  return Object.entries(found).map(([name, text]) => `${name} ${text}`).join(", ");
}

function valueText(series, index) {
  const value = series.values[index], unit = series.ratio ? "ratio" : series.unit;
  if (value === null) return `no value: ${series.problems[index] || "not measured"}`;
  const ends = endsOf(series, index), several = series.counts.length ? series.counts[index] : 1;
  const interval = ends[0] < ends[1] ? ` (${quantity(ends[0], unit)} to ${quantity(ends[1], unit)}${several > 1 ? `, ${several} values` : ""})` : "";
  return quantity(value, unit) + interval;
}

function reportOf(series, index) {
  const report = series.reports[index];
  if (!report) return "no report is known";
  const link = series.links[index];
  return link ? element("a", {href: link, id: "report"}, `report: ${report}`) : `report: ${report}`;
}

function readOut(index) {
  current = index;
  const series = shownSeries, at = series.times.length ? series.times[index] : null;
  const labels = labelsAt(series, index), value = valueText(series, index);
  const change = changesOf(series).find((each) => index >= each.earliest && index <= each.latest);
  byId("readout").replaceChildren(
    element("p", {}, element("strong", {}, series.versions[index]), at === null ? "" : ` of ${timeOf(at)}`, ` \u2014 ${value}`, pinned ? " (kept: click again to let go)" : ""),
    ...(change ? [element("p", {}, `may be the ${change.kind}: ${sizeOf(change.ratio)}, ${change.standing}`)] : []),
    ...(labels ? [element("p", {}, labels)] : []),
    element("p", {}, reportOf(series, index)),
  );
  const slider = byId("figure");
  slider.setAttribute("aria-valuenow", index);
  slider.setAttribute("aria-valuetext", `${series.versions[index]}, ${value}${change ? `, may be the ${change.kind}` : ""}`);
}

function keyOf(series) {
  const entries = [["dot", "value"]];
  if (series.errors.length || series.counts.length) entries.push(["bar", series.counts.length ? "smallest to largest value of a version" : "95 % interval"]);
  if (levelsOf(series).length) entries.push(["level", "level"]);
  for (const [kind, name] of [["regression", "bad-band"], ["progression", "good-band"]]) {
    if (changesOf(series).some((change) => change.kind === kind)) entries.push([name, `versions that may be the ${kind}`]);
  }
  if (labelChanges(series).length) entries.push(["label-line", "a label changed"]);
  const key = entries.map(([name, text]) => element("span", {}, element("i", {class: name}), text));
  if (series.values.includes(null)) key.push(element("span", {}, element("i", {class: "cross"}, "\u00d7"), "no value"));
  return key;
}

function changesTable(series) {
  if (!changesOf(series).length) return [];
  const rows = changesOf(series).map((change) => element("tr", {},
    cell("change", {}, element("strong", {}, sizeOf(change.ratio)), element("small", {}, marginOf(change.ratio_low, change.ratio_high))),
    cell("since", {}, datesOf(change)),
    cell("last good, first bad", {}, `${change.last_good} \u2192 ${badVersions(change.earliest_version, change.latest_version)}`),
    cell("state", {}, badge(change.kind), ` ${change.standing}`),
    cell("changed with it", {}, Object.entries(change.changed_labels).map(([name, [before, after]]) => `${name}: ${before} \u2192 ${after}`).join(", ")),
  ));
  const head = ["change", "since", "last good \u2192 first bad", "state", "changed with it"].map((name) => element("th", {scope: "col"}, name));
  return [element("h2", {}, "Changes"), element("div", {class: "scroll"},
    element("table", {class: "stack"}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows)))];
}

function wordsList(series) {
  if (!series.words.length) return [];
  const lines = series.words.map((word) => element("li", {},
    `${word.said}, ${word.who}: ${word.kind === "accept" ? "accepted" : "reset at"} ${word.version}${word.until ? ` until ${word.until}` : ""}: ${word.reason}`));
  return [element("h2", {}, "What people said"), element("ul", {}, ...lines)];
}

function factRows(series) {
  const said = series.judgement;
  const facts = {...series.key, unit: series.unit, worse: `${series.worse} is worse`};
  if (said) {
    facts.detector = said.method;
    facts["noise, relative"] = sizeOf(1 + said.deviation).replace(" higher", "");
    facts.tolerance = sizeOf(1 + said.tolerance).replace(" higher", "");
  }
  return Object.entries(facts).filter(([, text]) => text)
    .map(([name, text]) => element("tr", {}, element("th", {scope: "row"}, name), element("td", {}, text)));
}

function fillValues() {
  const values = byId("values"), series = shownSeries;
  if (!values.open || values.childElementCount > 1 || !series) return;
  const left = Math.max(0, series.versions.length - MOST_VALUES);
  const rows = series.versions.slice(left).map((version, place) => [version, place + left]).map(([version, index]) => element("tr", {},
    element("th", {scope: "row"}, version), cell("time", {class: "date"}, series.times.length && series.times[index] !== null ? timeOf(series.times[index]) : ""),
    cell("value", {}, valueText(series, index)), cell("labels", {}, labelsAt(series, index)), cell("report", {}, reportCell(series, index)))).reverse();
  const head = ["version", "time", "value", "labels", "report"].map((name) => element("th", {scope: "col"}, name));
  values.append(element("div", {class: "scroll"}, element("table", {class: "stack"}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows))));
  if (left) values.append(element("p", {class: "after"}, `The ${left.toLocaleString("en")} before them are in the figure.`));
}

function reportCell(series, index) {
  return series.links[index] ? element("a", {href: series.links[index]}, "report") : series.reports[index] || "";
}

function moveBy(event) {
  if (!figure || event.ctrlKey || event.altKey || event.metaKey) return;
  const [low, high] = figure.shown(), page = Math.max(1, Math.round((high - low) / 10));
  const steps = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: page, PageDown: -page, Home: -Infinity, End: Infinity};
  if (event.key in steps) { pinned = false; figure.choose(current + steps[event.key]); }
  else if (event.key === "+") figure.zoom(0.5);
  else if (event.key === "-") figure.zoom(2);
  else if (event.key === "Escape") figure.showAll();
  else if (event.key === "Enter" && byId("report")) byId("report").click();
  else return;
  event.preventDefault();
}
