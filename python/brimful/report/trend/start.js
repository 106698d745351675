"use strict";
// What the scripts with data call, and the way between the index and a series: the part of the address after `#`.

let place = "", wanted = null;

const brimful = {
  index: showIndexOnce,
  series(id, series) {
    if (id === wanted) showSeries(series);
  },
};

function trouble(text) {
  byId("trouble").hidden = !text;
  byId("trouble").textContent = text;
}

function go() {
  const found = /^#series=(\d+)$/.exec(location.hash);
  trouble("");
  if (found) return load(Number(found[1]));
  const cameFrom = wanted;
  wanted = null;
  hideSeries();
  byId("index").hidden = false;
  document.title = `Trend of ${document.querySelector("#index h1").textContent}`;
  if (cameFrom !== null) {
    const link = document.querySelector(`#index a[href="#series=${cameFrom}"]`);
    if (link) link.focus();
  }
}

// A page that was opened as a file may load scripts, and nothing else.
function load(id) {
  wanted = id;
  const script = element("script", {src: `${place}/${id}.js`});
  script.addEventListener("load", () => script.remove());
  script.addEventListener("error", () => {
    script.remove();
    hideSeries();
    byId("index").hidden = false;
    trouble("This series cannot be loaded. The page may have been renewed since it was opened: load it again.");
  });
  document.head.append(script);
}

function start(data) {
  place = data;
  if (listed === null) return trouble("The data of this page cannot be loaded. It may have been renewed: load it again.");
  byId("figure").addEventListener("keydown", moveBy);
  byId("values").addEventListener("toggle", fillValues);
  byId("closer").addEventListener("click", () => figure && figure.zoom(0.5));
  byId("wider").addEventListener("click", () => figure && figure.zoom(2));
  byId("whole").addEventListener("click", () => figure && figure.showAll());
  addEventListener("hashchange", go);
  go();
  document.body.dataset.readyMs = Math.round(performance.now());
}
