// What pages do beyond what they do without a script: they refresh themselves, draw charts,
// and show local times.
'use strict';
(() => {
  const state = document.getElementById('live-state');
  const badge = document.getElementById('parked-count');
  const address = document.body.dataset.stream;
  let stream = null;

  // One stream a visible tab: browsers open six connections to a server of HTTP/1.1.
  function watch() {
    if (!address || document.hidden || stream) return;
    stream = new EventSource(address);
    stream.addEventListener('sample', (event) => {
      state.textContent = '● live';
      const status = JSON.parse(event.data);
      let parked = 0;
      for (const outbox of status.outboxes) for (const group of outbox.groups) parked += group.parked;
      badge.textContent = parked;
      badge.classList.toggle('none', parked === 0);
      document.body.dispatchEvent(new CustomEvent('sample', { detail: status }));
    });
    stream.addEventListener('error', () => { state.textContent = '○ not connected'; });
  }
  function leave() {
    if (stream) stream.close();
    stream = null;
    state.textContent = '';
  }
  document.addEventListener('visibilitychange', () => (document.hidden ? leave() : watch()));
  window.addEventListener('pagehide', leave);
  watch();

  // Times are sent in UTC.
  const clock = document.getElementById('clock');
  let local = false;
  function times() {
    for (const element of document.querySelectorAll('time[datetime]')) {
      if (!element.dataset.utc) element.dataset.utc = element.textContent;
      element.textContent = local ? new Date(element.dateTime).toLocaleString() : element.dataset.utc;
    }
    clock.textContent = local ? 'Times in UTC' : 'Local times';
  }
  clock.hidden = false;
  clock.addEventListener('click', () => { local = !local; times(); });
  document.addEventListener('htmx:after:swap', () => { if (local) times(); });

  // Charts of the last half hour. Colours are those of the page, whatever its scheme.
  const colours = ['#3b82c4', '#c2703d', '#3f9b6c', '#a05fb0', '#b8a13a', '#c2527a'];
  function draw(section, history) {
    const ink = getComputedStyle(document.body).color;
    const axis = { stroke: ink, grid: { stroke: 'rgba(128,128,128,.25)' }, ticks: { stroke: 'rgba(128,128,128,.4)' } };
    const series = (label, index) => ({ label, stroke: colours[index % colours.length], width: 2 });
    const charts = [
      ['Lag, s', history.groups.map((g) => [g.name, g.lag_seconds])],
      ['Backlog', history.groups.map((g) => [g.name, g.backlog])],
      ['Messages / s', [...history.groups.map((g) => [g.name, g.settled_per_second]), ['enqueued', history.enqueued_per_second]]],
    ];
    const places = charts.map(() => document.createElement('div'));
    section.replaceChildren(...places);
    const now = Date.now() / 1000;
    for (const [i, [title, lines]] of charts.entries()) {
      const place = places[i];
      new uPlot({
        title, width: Math.max(240, place.clientWidth - 4), height: 200, scales: { x: { range: [now - 1800, now] } },
        axes: [axis, { ...axis, size: 60 }], series: [{}, ...lines.map(([name], i) => series(name, i))],
      }, [history.at, ...lines.map(([, values]) => values)], place);
    }
  }
  for (const section of document.querySelectorAll('.charts')) {
    let last = 0;
    const load = async () => {
      if (Date.now() - last < 9000) return;
      last = Date.now();
      const answer = await fetch(section.dataset.history);
      if (answer.ok) draw(section, await answer.json());
    };
    load();
    window.addEventListener('resize', () => { last = 0; });
    document.body.addEventListener('sample', load);
  }
})();
