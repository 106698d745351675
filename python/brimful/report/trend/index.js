"use strict";
// The index: findings and series, searched and filtered while one types.

const FEW = 50, MORE = 500, MOST_NAMED = 3, MOST_LISTED = 300;
let listed = null;

// What is searched in is put together once: then thousands of series are searched within a key stroke.
function prepare(data) {
  const series = data.series.map(([id, name, state, value, unit, version, at, text, current, confirmation]) => ({
    id, name, state, value, unit, version, at, text, current, confirmation, searched: `${name} ${version}`.toLowerCase(),
  }));
  const byNumber = new Map(series.map((each) => [each.id, each]));
  const findings = data.findings.map((finding) => {
    const names = finding.changes.map((change) => byNumber.get(change.series).name).join("\n");
    const largest = finding.changes[0];
    return {...finding, largest, size: Math.abs(Math.log(largest.ratio)), searched: `${finding.version} ${largest.last_good} ${names}`.toLowerCase()};
  });
  findings.sort((a, b) => b.size - a.size);
  return {series, findings, byNumber, states: data.states, made: Number(byId("made").dataset.made)};
}

function showIndexOnce(data) {
  listed = prepare(data);
  byId("made").textContent = timeOf(listed.made);
  const counts = listed.states.map((state) => [state, listed.series.filter((each) => each.state === state).length]).filter(([, count]) => count);
  byId("summary").textContent = counts.map(([state, count]) => `${state}: ${count.toLocaleString("en")}`).join(", ") || "There are no series.";
  const kinds = new Set([...counts.map(([state]) => state), ...listed.findings.map((each) => each.kind)]);
  byId("state").append(...listed.states.filter((state) => kinds.has(state)).map((state) => element("option", {value: state}, state)));
  const behind = listed.series.filter((each) => !each.current).length;
  byId("unchecked").hidden = !behind;
  byId("unchecked").textContent = `${counted(behind, "series")} with versions that no check has seen: brimful trend check judges them.`;
  byId("filters").addEventListener("input", () => list(FEW));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("more-findings").addEventListener("click", () => list(MORE));
  byId("more-series").addEventListener("click", () => list(MORE));
  list(FEW);
}

function list(most) {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const state = byId("state").value, days = Number(byId("days").value);
  const matches = (each) => words.every((word) => each.searched.includes(word));
  const since = days ? listed.made - days * 86400 : -Infinity;
  const findings = listed.findings.filter((each) => (!state || each.kind === state) && (each.reported ?? 0) >= since && matches(each));
  if (byId("order").value === "reported") findings.sort((a, b) => b.reported - a.reported || b.size - a.size);
  const series = listed.series.filter((each) => (!state || each.state === state) && matches(each));
  fill("findings", findings, findingRow, most, "finding");
  fill("series-list", series, seriesRow, most, "series");
  byId("count").textContent = `${counted(findings.length, "finding")} of ${listed.findings.length.toLocaleString("en")}, ${series.length.toLocaleString("en")} of ${listed.series.length.toLocaleString("en")} series`;
}

function fill(table, rows, rowOf, most, word) {
  const body = byId(table).tBodies[0];
  body.replaceChildren(...rows.slice(0, most).map(rowOf));
  const columns = byId(table).tHead.rows[0].cells.length;
  if (!rows.length) body.append(element("tr", {}, element("td", {colspan: columns}, `No ${word === "series" ? word : word + "s"}.`)));
  const more = byId(word === "series" ? "more-series" : "more-findings"), left = rows.length - most;
  more.hidden = left <= 0;
  more.textContent = most === FEW ? `Show more of ${counted(left, "other " + word)}` : `${counted(left, "other " + word)}: search for them`;
  more.disabled = most !== FEW;
}

function findingRow(finding) {
  const {largest} = finding;
  const confirmed = finding.changes.map((change) => listed.byNumber.get(change.series).confirmation).find(Boolean);
  return element("tr", {},
    cell("change", {}, element("span", {class: "size"}, sizeOf(largest.ratio)), element("small", {}, marginOf(largest.low, largest.high))),
    cell("since", {}, datesOf(largest)),
    cell("last good, first bad", {}, `${short(largest.last_good, 40)} \u2192 ${badVersions(short(largest.earliest, 40), short(largest.latest, 40))}`),
    cell("state", {}, badge(finding.kind), element("small", {}, confirmed ? `live comparison: ${confirmed}` : "not compared live")),
    cell("series", {}, ...named(finding)),
    cell("reported", {class: "date"}, dateOf(finding.reported)));
}

// The first series by name; the others when somebody asks for them.
function named(finding) {
  const one = (change) => element("li", {}, linkTo(change.series, listed.byNumber.get(change.series).name), finding.changes.length > 1 ? element("small", {}, sizeOf(change.ratio)) : null);
  const parts = [element("ul", {}, ...finding.changes.slice(0, MOST_NAMED).map(one))];
  const others = finding.changes.slice(MOST_NAMED);
  if (others.length) {
    const more = element("details", {}, element("summary", {}, `${others.length.toLocaleString("en")} more series`));
    more.addEventListener("toggle", () => {
      if (more.childElementCount > 1) return;
      const shown = others.slice(0, MOST_LISTED).map(one);
      if (others.length > MOST_LISTED) shown.push(element("li", {}, `and ${others.length - MOST_LISTED} smaller ones: search for them`));
      more.append(element("ul", {}, ...shown));
    });
    parts.push(more);
  }
  return parts;
}

function seriesRow(series) {
  return element("tr", {},
    element("th", {scope: "row"}, linkTo(series.id, series.name)),
    cell("state", {}, badge(series.state), series.current ? null : element("small", {}, "newest not checked")),
    cell("newest value", {class: "number"}, quantity(series.value, series.unit)),
    cell("version", {}, short(series.version, 40), element("small", {class: "date"}, dateOf(series.at))),
    cell("what is said", {}, kept(series.text)));
}
