"use strict";
// Elements and texts. What comes from outside becomes text of an element, never markup.

const byId = (id) => document.getElementById(id);

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const grouped = new Intl.NumberFormat("en", {maximumSignificantDigits: 6});
const PREFIXES = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];

// A value with its unit; seconds below one have a prefix, and what is far from 1 an exponent.
function quantity(value, unit) {
  if (value === null || value === undefined) return "no value";
  if (unit === "s" && value < 1 && value >= 1e-10) {
    const [scale, prefix] = PREFIXES.find(([each]) => value >= each * 0.9999999) || [1e-9, "n"];
    return `${grouped.format(value / scale)}\u00a0${prefix}s`;
  }
  const plain = value >= 1e12 || value < 1e-4 ? value.toExponential(4) : grouped.format(value);
  return unit ? `${plain}\u00a0${unit}` : plain;
}

// The prefix that suits an axis up to a value.
function prefixOf(most, unit) {
  if (unit === "ratio" || (most >= 1 && most < 10000)) return [1, ""];
  return PREFIXES.find(([scale]) => most >= scale) || [1e-9, "n"];
}

const three = new Intl.NumberFormat("en", {maximumSignificantDigits: 3});
const four = new Intl.NumberFormat("en", {maximumSignificantDigits: 4});

function sizeOf(ratio) {
  if (ratio >= 10) return `${four.format(ratio)} times higher`;
  return `${three.format(100 * Math.abs(ratio - 1))}\u00a0% ${ratio > 1 ? "higher" : "lower"}`;
}

function marginOf(low, high) {
  const ends = [Math.abs(low - 1), Math.abs(high - 1)].sort((a, b) => a - b);
  return ends[1] > 100 ? "" : `${three.format(100 * ends[0])}\u00a0% to ${three.format(100 * ends[1])}\u00a0%`;
}

const dateOf = (at) => (at === null || at === undefined ? "" : new Date(at * 1000).toISOString().slice(0, 10));
const timeOf = (at) => new Date(at * 1000).toISOString().slice(0, 16).replace("T", " ") + " UTC";

function between(first, last) {
  if (!first && !last) return "";
  return first === last || !last ? first : `${first || "?"} to ${last}`;
}

const datesOf = (change) => between(dateOf(change.earliest_at), dateOf(change.latest_at));
const badVersions = (first, last) => (first === last ? first : `${first} to ${last}`);
const short = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
const counted = (number, word) => `${number.toLocaleString("en")} ${number === 1 || word.endsWith("s") ? word : word + "s"}`;

const KINDS = {
  regression: "bad", "no value": "doubtful", "suspected regression": "doubtful", "suspected progression": "doubtful",
  progression: "good", accepted: "good", normal: "quiet",
};
const badge = (state) => element("span", {class: `badge ${KINDS[state] || "quiet"}`}, state);
// A number stays on the line of its per cent.
const kept = (text) => text.replace(/(\d) %/g, "$1\u00a0%");
const linkTo = (id, name) => element("a", {href: `#series=${id}`}, kept(name));

function cell(label, attributes, ...children) {
  return element("td", {"data-label": label, ...attributes}, ...children);
}
