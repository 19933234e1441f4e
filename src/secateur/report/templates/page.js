"use strict";
// Shows the facts of the page: what depends on the cut is drawn here, and here only.
const secateurDraw = (() => {
  const facts = JSON.parse(document.getElementById("facts").textContent);
  const MAX_CORRELATED = 30;
  const root = document.documentElement;

  const make = (tag, text, classes) => {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text; // never HTML: names may hold anything
    if (classes) node.className = classes;
    return node;
  };
  const percent = (share) => {
    if (share > 0 && share < 0.0005) return "< 0.1 %";
    return (share >= 0.0995 || share === 0 ? Math.round(100 * share) : (100 * share).toFixed(1)) + " %";
  };

  const short = (name) => (name.length > 60 ? name.slice(0, 59) + "…" : name);

  // ---- one path ---------------------------------------------------------------------------

  function Entry(article, number) {
    const data = facts.entries[number];
    const find = (selector) => article.querySelector(selector);
    const byId = (key) => document.getElementById("e" + number + "-" + key);
    const table = byId("features");
    const rows = [...table.tBodies[0].rows];
    const cells = rows.map((row) => Object.fromEntries([...row.cells].map((cell) => [cell.classList[0], cell])));
    const groups = cells.map(({ group }) => (group ? group.title || group.textContent : ""));
    const grey = data.grey ? atob(data.grey) : "";
    let step = data.cut;
    let sort = { key: "gain", down: true };
    let values = []; // of each row, what it is sorted by

    const current = () => data.steps[step];

    function fillTable() {
      const now = current();
      const at = new Map(now.rows.map((row, position) => [row, position]));
      values = rows.map((tr, row) => {
        const here = at.get(row);
        const inside = here !== undefined;
        const cell = cells[row];
        const gain = inside ? now.gain[here] : -1;
        const place = inside ? (now.place ? now.place[here] : here + 1) : Infinity;
        const frequency = inside && now.frequency ? now.frequency[here] : -1;
        const paid = inside && now.paid ? now.paid[here] : -1;
        tr.classList.toggle("out", !inside);
        cell.gain.textContent = inside ? percent(gain) : "–";
        if (inside) {
          const bar = make("span", undefined, "bar");
          bar.style.setProperty("--w", 100 * gain / (now.most || 1) + "%");
          cell.gain.append(bar);
        }
        cell.place.textContent = inside ? place : "–";
        const unstable = frequency >= 0 && frequency < facts.min_frequency;
        tr.classList.toggle("unstable", unstable);
        if (cell.frequency) {
          cell.frequency.textContent = frequency < 0 ? "–" : percent(frequency);
          if (unstable) cell.frequency.append(" ", make("span", "unstable", "mark"));
          const other = inside && now.substitutes && now.substitutes[here];
          if (other) cell.frequency.append(" ", make("span", "instead: " + other, "instead"));
        }
        if (cell.paid) cell.paid.textContent = paid === null || paid < 0 ? "–" : paid;
        if (cell.substitute) cell.substitute.textContent = correlated(row, at);
        const [name, cost] = data.features[row];
        return { name, gain, place, frequency, paid, cost: cost === null ? -1 : cost, group: groups[row], inside };
      });
      arrange();
    }

    function correlated(row, at) {
      const known = data.features[row][2];
      if (known < 0 || !data.correlated) return "";
      return data.correlated[known]
        .filter(([other]) => !at.has(other))
        .slice(0, 2)
        .map(([other, r]) => short(other < 0 ? data.names[other] : data.features[other][0]) + " " + (r / 100).toFixed(2))
        .join(", ");
    }

    function arrange() {
      const words = find(".filter").value.trim().toLowerCase();
      const all = find("input.all").checked;
      const compare = (a, b) => {
        const x = values[a][sort.key], y = values[b][sort.key];
        const way = typeof x === "string" ? x.localeCompare(y, undefined, { numeric: true }) : x === y ? 0 : x < y ? -1 : 1;
        return (sort.down ? -way : way) || a - b;
      };
      const order = rows.map((_, row) => row).sort(compare);
      let shown = 0;
      for (const row of order) {
        const value = values[row];
        const fits = !words || value.name.toLowerCase().includes(words) || value.group.toLowerCase().includes(words);
        const visible = fits && (all || value.inside);
        rows[row].hidden = !visible;
        shown += visible ? 1 : 0;
      }
      table.tBodies[0].append(...order.map((row) => rows[row]));
      const more = current().more ? "; " + current().more + " more with small gain are not listed" : "";
      find(".count").textContent = shown + " shown" + more;
      for (const head of table.tHead.rows[0].cells) {
        const button = head.querySelector("button");
        if (button) head.setAttribute("aria-sort", button.dataset.sort !== sort.key ? "none" : sort.down ? "descending" : "ascending");
      }
    }

    // ---- correlation ----------------------------------------------------------------------

    const correlation = (a, b) => (a === b ? 100 : a > b ? data.association[a][b] : data.association[b][a]);

    function fillAssociation() {
      const place = byId("association");
      if (!place) return;
      const now = current();
      const byGain = now.rows.map((row, at) => [row, now.gain[at]]).filter(([row]) => data.features[row][2] >= 0);
      byGain.sort((a, b) => b[1] - a[1]);
      const chosen = byGain.slice(0, MAX_CORRELATED).map(([row]) => row);
      const head = make("tr");
      head.append(make("td"));
      for (const row of chosen) {
        const th = make("th");
        th.scope = "col";
        th.append(make("span", data.features[row][0]));
        head.append(th);
      }
      const thead = make("thead");
      thead.append(head);
      const tbody = make("tbody");
      const pairs = [];
      chosen.forEach((row, i) => {
        const tr = make("tr");
        const th = make("th", data.features[row][0]);
        th.scope = "row";
        th.title = data.features[row][0];
        tr.append(th);
        chosen.forEach((other, j) => {
          const r = correlation(data.features[row][2], data.features[other][2]);
          const td = make("td", r === null || i === j ? "" : (r / 100).toFixed(2).replace("0.", "."));
          if (i !== j && r !== null) {
            td.style.background = "rgba(" + (r < 0 ? "var(--minus)" : "var(--plus)") + "," + Math.abs(r) / 125 + ")";
            td.title = short(data.features[row][0]) + " and " + short(data.features[other][0]) + ": " + (r / 100).toFixed(2);
            if (i < j) pairs.push([Math.abs(r), td.title]);
          }
          tr.append(td);
        });
        tbody.append(tr);
      });
      place.replaceChildren(thead, tbody);
      pairs.sort((a, b) => b[0] - a[0]);
      const strong = pairs.filter(([r]) => r >= 50).slice(0, 5).map(([, words]) => words);
      const left = chosen.length < now.n ? " The " + chosen.length + " features of largest gain are shown." : "";
      find(".pairs").textContent = (strong.length ? "Strongest: " + strong.join("; ") + "." : "No correlation of 0.5 or more.") + left;
    }

    // ---- map and tasks --------------------------------------------------------------------

    function fillMap() {
      const place = byId("map");
      if (!place) return;
      const [, height, width] = [1, 1, 1, ...data.grid].slice(-3);
      const now = current();
      for (const panel of place.children) {
        if (!panel.firstChild) panel.append(greyPicture(panel.dataset.panel * width * height, width, height));
        const space = "http://www.w3.org/2000/svg";
        const svg = document.createElementNS(space, "svg");
        svg.setAttribute("viewBox", "0 0 " + width + " " + height);
        svg.setAttribute("preserveAspectRatio", "none");
        now.rows.forEach((row, at) => {
          const cell = data.cells[row] - panel.dataset.panel * width * height;
          if (cell < 0 || cell >= width * height) return;
          const rect = document.createElementNS(space, "rect");
          rect.setAttribute("x", cell % width);
          rect.setAttribute("y", Math.floor(cell / width));
          rect.setAttribute("width", 1);
          rect.setAttribute("height", 1);
          rect.setAttribute("opacity", (0.55 + 0.45 * Math.sqrt(now.gain[at] / (now.most || 1))).toFixed(2));
          const title = document.createElementNS(space, "title");
          const where = "row " + Math.floor(cell / width) + ", column " + cell % width;
          title.textContent = data.features[row][0] + " (" + where + "): " + percent(now.gain[at]);
          rect.append(title);
          svg.append(rect);
        });
        panel.querySelectorAll("svg").forEach((old) => old.remove());
        panel.append(svg);
      }
    }

    // The mean of each cell of a panel, from its first cell on.
    function greyPicture(first, width, height) {
      const canvas = make("canvas");
      Object.assign(canvas, { width, height });
      const context = canvas.getContext("2d");
      const picture = context.createImageData(width, height);
      for (let cell = 0; cell < width * height; cell++) {
        picture.data.fill(grey.charCodeAt(first + cell), 4 * cell, 4 * cell + 3);
        picture.data[4 * cell + 3] = 255;
      }
      context.putImageData(picture, 0, 0);
      return canvas;
    }

    function fillTasks() {
      const place = byId("tasks");
      if (!place) return;
      const now = current();
      const tasks = Object.entries(now.tasks || {}).map(([name, used]) => [name, new Set(used)]);
      const head = make("tr");
      head.append(make("td"));
      for (const [name] of tasks) {
        const th = make("th");
        th.scope = "col";
        th.append(make("span", name));
        head.append(th);
      }
      head.append(make("th", "tasks"));
      const thead = make("thead");
      thead.append(head);
      const tbody = make("tbody");
      const count = (row) => tasks.filter(([, used]) => used.has(row)).length;
      for (const row of [...now.rows].sort((a, b) => count(b) - count(a) || a - b)) {
        const tr = make("tr");
        const th = make("th", data.features[row][0]);
        th.scope = "row";
        tr.append(th);
        for (const [name, used] of tasks) {
          const td = make("td", used.has(row) ? "●" : "", used.has(row) ? "in" : "");
          td.title = name + (used.has(row) ? " uses " : " does not use ") + data.features[row][0];
          tr.append(td);
        }
        tr.append(make("td", count(row)));
        tbody.append(tr);
      }
      place.replaceChildren(thead, tbody);
    }

    // ---- the cut --------------------------------------------------------------------------

    function choose(wanted) {
      step = wanted;
      const now = current();
      find(".answer").textContent = now.answer;
      find(".reason").textContent = now.reason;
      find(".unstable").textContent = now.unstable;
      const slider = find(".cut input");
      if (slider) {
        slider.value = step;
        slider.setAttribute("aria-valuetext", now.label);
        find(".cut output").textContent = now.label;
        for (const button of article.querySelectorAll(".rules button")) {
          button.setAttribute("aria-pressed", String(Number(button.dataset.step) === step));
        }
      }
      fill();
      mark();
    }

    function fill() {
      fillTable();
      fillAssociation();
      fillMap();
      fillTasks();
    }

    function mark() {
      for (const [key, figure] of Object.entries(data.figures)) {
        const points = figure.data[0]; // one for each step
        Object.assign(figure.data[1], { x: [points.x[step]], y: [points.y[step]] });
        draw(byId(key), figure);
      }
    }

    for (const each of data.steps) each.most = Math.max(0, ...each.gain);
    const slider = find(".cut input");
    if (slider) slider.addEventListener("input", () => choose(Number(slider.value)));
    for (const button of article.querySelectorAll(".rules button")) {
      button.addEventListener("click", () => choose(Number(button.dataset.step)));
    }
    table.tHead.addEventListener("click", (event) => {
      const key = event.target.dataset && event.target.dataset.sort;
      if (!key) return;
      // Names and entries begin with the first, amounts with the largest.
      const down = !["name", "group", "place"].includes(key);
      sort = { key, down: sort.key === key ? !sort.down : down };
      arrange();
    });
    find(".filter").addEventListener("input", arrange);
    find("input.all").addEventListener("change", arrange);
    fill();

    return {
      draw() {
        mark();
        for (const key of Object.keys(data.figures)) {
          byId(key).on("plotly_click", (event) => {
            const point = event.points.find((each) => each.curveNumber === 0);
            if (point) choose(point.pointIndex);
          });
        }
      },
      redraw: mark,
    };
  }

  // ---- figures ------------------------------------------------------------------------------

  function themed(value) {
    if (typeof value === "string" && value.startsWith("var(--")) {
      return getComputedStyle(root).getPropertyValue(value.slice(4, -1)).trim();
    }
    if (Array.isArray(value)) return value.map(themed);
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, themed(each)]));
    }
    return value;
  }

  function draw(place, figure) {
    if (!place || !window.Plotly) return;
    const layout = { ...themed(figure.layout), width: place.clientWidth, height: place.clientHeight };
    Plotly.react(place, themed(figure.data), layout, { displayModeBar: false });
  }

  // ---- comparisons, and all paths together ----------------------------------------------------

  for (const table of document.querySelectorAll(".sortable")) {
    table.tHead.addEventListener("click", (event) => {
      const head = event.target.closest("th");
      if (!head || event.target.tagName !== "BUTTON") return;
      const down = head.getAttribute("aria-sort") === "ascending";
      const value = (row) => row.cells[head.cellIndex].dataset;
      const compare = (a, b) => {
        const x = value(a), y = value(b);
        const way = x.s !== undefined ? x.s.localeCompare(y.s, undefined, { numeric: true }) : number(x.n) - number(y.n);
        return down ? -way : way;
      };
      for (const each of table.tHead.rows[0].cells) each.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
    });
  }

  function number(text) {
    return text === "inf" ? Number.MAX_VALUE : Number(text);
  }

  const drawFixed = () => {
    for (const [key, figure] of Object.entries(facts.figures)) draw(document.getElementById("c-" + key), figure);
  };

  const entries = [...document.querySelectorAll(".entry[data-entry]")].map((article) => Entry(article, Number(article.dataset.entry)));
  const redraw = () => {
    entries.forEach((entry) => entry.redraw());
    drawFixed();
  };

  return () => {
    entries.forEach((entry) => entry.draw());
    drawFixed();
    let waiting = 0;
    window.addEventListener("resize", () => {
      cancelAnimationFrame(waiting);
      waiting = requestAnimationFrame(redraw);
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    window.addEventListener("beforeprint", () => { root.dataset.theme = "light"; root.dataset.print = "1"; redraw(); });
    window.addEventListener("afterprint", () => { delete root.dataset.theme; delete root.dataset.print; redraw(); });
  };
})();
