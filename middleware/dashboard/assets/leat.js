// What pages do beyond what they do without a script: they follow what happens, draw charts, show local times,
// copy, tick all, and take keys.
'use strict';
(() => {
  const root = document.documentElement;
  const { base, stream: address, outbox: inOutbox, group: inGroup } = document.body.dataset;
  const state = document.getElementById('live-state');
  let stream = null;
  let heard = 0;

  // One stream a visible tab: browsers open six connections to a server of HTTP/1.1.
  function watch() {
    if (!address || document.hidden || stream) return;
    stream = new EventSource(address);
    stream.addEventListener('sample', (event) => {
      heard = Date.now();
      tell();
      const status = JSON.parse(event.data);
      count(status);
      if (!busy()) document.body.dispatchEvent(new CustomEvent('sample', { detail: status }));
    });
    stream.addEventListener('error', () => { heard = 0; tell(); });
  }
  function leave() {
    if (stream) stream.close();
    stream = null;
    if (state) state.hidden = true;
  }
  function tell() {
    if (!state) return;
    const ago = Math.round((Date.now() - heard) / 1000);
    const text = heard === 0 ? 'Not connected' : ago < 15 ? 'Live' : `Live · ${ago} s ago`;
    state.hidden = false;
    state.classList.toggle('lost', heard === 0 || ago >= 15);
    if (state.textContent !== text) state.textContent = text;
  }
  setInterval(() => { if (stream) tell(); }, 5000);
  document.addEventListener('visibilitychange', () => (document.hidden ? leave() : watch()));
  window.addEventListener('pagehide', leave);

  // What the visitor has opened, ticked or begun to write stays as it is: the page is refreshed afterwards.
  function busy() {
    const live = document.getElementById('live');
    return live && (live.querySelector('.menu[open], :checked:not(option)') || live.contains(document.activeElement) && document.activeElement.matches('input, select, textarea'));
  }

  // The numbers of the tabs.
  function count(status) {
    const sums = { groups: 0, parked: 0, retried: 0, dead: 0, delayed: 0, inboxes: 0 };
    for (const outbox of status.outboxes) {
      if (inOutbox && outbox.name !== inOutbox) continue;
      sums.delayed += outbox.delayed;
      for (const group of outbox.groups) {
        if (inGroup && group.name !== inGroup) continue;
        sums.groups += 1;
        sums.parked += group.parked;
        sums.retried += group.retrying;
        sums.dead += group.dead;
      }
    }
    for (const inbox of status.inboxes) sums.inboxes += inbox.parked;
    for (const [name, n] of Object.entries(sums)) {
      const badge = document.getElementById(`count-${name}`);
      if (!badge) continue;
      badge.hidden = n === 0;
      badge.classList.toggle('warn', n > 0 && ['parked', 'retried', 'inboxes'].includes(name));
      badge.firstElementChild.textContent = n.toLocaleString('en');
    }
  }
  watch();

  // Times are sent relative, or in UTC.
  const clock = root.dataset.clock;
  const zone = document.getElementById('zone');
  if (zone) zone.textContent = 'Times are those of your place; hold the pointer over one for UTC.';
  function ago(at) {
    const seconds = Math.abs(Date.now() - at) / 1000;
    const text = seconds < 60 ? `${Math.floor(seconds)} s` : seconds < 3600 ? `${Math.floor(seconds / 60)} min`
      : seconds < 172800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86400)} days`;
    return at > Date.now() ? `in ${text}` : `${text} ago`;
  }
  function times() {
    for (const element of document.querySelectorAll('main time[datetime]')) {
      const at = new Date(element.dateTime);
      if (clock === 'local') element.textContent = at.toLocaleString();
      else if (clock === 'ago' && / ago$|^in /.test(element.textContent)) element.textContent = ago(at.getTime());
    }
  }
  times();
  setInterval(times, 10000);
  document.addEventListener('htmx:after:swap', times);

  // Buttons that need a script are there with one.
  for (const button of document.querySelectorAll('[data-copy]')) {
    if (!navigator.clipboard) break;
    button.hidden = false;
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).innerText);
      const text = button.firstChild;
      const was = text.textContent;
      text.textContent = 'Copied';
      setTimeout(() => { text.textContent = was; }, 1500);
    });
  }
  for (const all of document.querySelectorAll('[data-all]')) {
    all.hidden = false;
    all.addEventListener('change', () => {
      for (const box of document.querySelectorAll(`tbody input[form="${all.dataset.all}"]`)) box.checked = all.checked;
    });
  }

  // Keys: / searches, g and a letter goes to a page, Esc closes what is open.
  const pages = { o: 'overview', g: 'groups', p: 'parked', r: 'retried', d: 'dead', i: 'inboxes', a: 'audit' };
  let going = 0;
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') {
      for (const menu of document.querySelectorAll('.menu[open]')) {
        menu.open = false;
        menu.firstElementChild.focus();
      }
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, textarea, select')) return;
    const search = document.getElementById('q');
    if (event.key === '/' && search) {
      event.preventDefault();
      search.focus();
    } else if (event.key === 'g' && Date.now() - going > 1000) {
      going = Date.now();
    } else {
      const name = Date.now() - going < 1000 && pages[event.key];
      going = 0;
      const path = base + (name === 'overview' ? '' : name);
      const link = name && [...document.querySelectorAll('.tabs a')].find((a) => new URL(a.href).pathname === path);
      if (link) link.click();
    }
  });
  document.addEventListener('click', (event) => {
    for (const menu of document.querySelectorAll('.menu[open]')) if (!menu.contains(event.target)) menu.open = false;
  });

  // Charts of the last half hour, of what is open. A colour belongs to a name, on every page, unless another name of the
  // chart has it already.
  const colours = ['#1f8ba3', '#c2622d', '#8a63c9', '#3f9b6c', '#b8862a', '#c2527a', '#4f7fd0'];
  function coloursOf(names) {
    const taken = new Map();
    for (const name of [...names].sort()) {
      let i = [...name].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 9973, 7) % colours.length;
      for (let left = colours.length; left > 0 && [...taken.values()].includes(colours[i]); left--) i = (i + 1) % colours.length;
      taken.set(name, colours[i]);
    }
    return taken;
  }
  const short = (v) => (Math.abs(v) >= 10000 ? `${Math.round(v / 1000)}k` : v.toLocaleString('en'));
  const drawn = new Map();
  function draw(place, history) {
    const charts = [
      ['Oldest in the log', 'seconds', history.groups.map((g) => [g.name, g.lag_seconds])],
      ['Backlog', 'messages', history.groups.map((g) => [g.name, g.backlog])],
      ['Messages', 'per second', [['enqueued', history.enqueued_per_second], ...history.groups.map((g) => [g.name, g.settled_per_second])]],
    ];
    const names = JSON.stringify(charts.map(([, , lines]) => lines.map(([name]) => name)));
    const before = drawn.get(place);
    if (before && before.names === names && before.width === place.clientWidth) {
      before.plots.forEach((plot, i) => plot.setData([history.at, ...charts[i][2].map(([, values]) => values)]));
      return;
    }
    if (before) before.plots.forEach((plot) => plot.destroy());
    const css = getComputedStyle(root);
    const colour = coloursOf(history.groups.map((g) => g.name));
    const axis = { stroke: () => getComputedStyle(state).color, font: `11px ${css.getPropertyValue('--sans')}`, grid: { stroke: '#80909640', width: 1 }, ticks: { show: false } };
    const figures = charts.map(([title, unit]) => {
      const figure = document.createElement('figure');
      const caption = document.createElement('figcaption');
      caption.textContent = `${title} `;
      caption.append(Object.assign(document.createElement('span'), { textContent: unit }));
      figure.append(caption, document.createElement('div'));
      return figure;
    });
    place.replaceChildren(...figures);
    const tzDate = clock === 'local' ? (t) => new Date(t * 1000) : (t) => uPlot.tzDate(new Date(t * 1000), 'UTC');
    const plots = charts.map(([, , lines], i) => {
      const body = figures[i].lastElementChild;
      return new uPlot({
        width: Math.max(200, body.clientWidth), height: 190, tzDate, cursor: { points: { size: 6 } },
        scales: { x: { range: (u, least, most) => [most - 1800, most] }, y: { range: (u, least, most) => [0, Math.max(1, most * 1.05)] } },
        axes: [{ ...axis, space: 70, size: 26, values: '{HH}:{mm}' }, { ...axis, size: 48, values: (_, vs) => vs.map(short) }],
        series: [{ label: clock === 'local' ? 'At' : 'UTC', value: '{HH}:{mm}' }, ...lines.map(([label]) => ({
          label, stroke: label === 'enqueued' ? '#6b7f86' : colour.get(label), width: 1.75, points: { show: false }, value: (_, v) => (v == null ? '–' : v.toLocaleString('en')),
        }))],
      }, [history.at, ...lines.map(([, values]) => values)], body);
    });
    drawn.set(place, { names, width: place.clientWidth, plots });
  }
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    for (const { plots } of drawn.values()) plots.forEach((plot) => plot.redraw(false, true));
  });
  for (const section of document.querySelectorAll('.charted')) {
    section.hidden = false;
    for (const fold of section.querySelectorAll('[data-history]')) {
      let last = 0;
      const load = async () => {
        if (!fold.open || Date.now() - last < 9000) return;
        last = Date.now();
        const answer = await fetch(fold.dataset.history);
        if (answer.ok) draw(fold.querySelector('.charts'), await answer.json());
      };
      load();
      fold.addEventListener('toggle', load);
      window.addEventListener('resize', () => { last = 0; load(); });
      document.body.addEventListener('sample', load);
    }
  }
})();
