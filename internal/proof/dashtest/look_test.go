package dashtest_test

import (
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// looks are checks of how the pages of the data set look. wrong is an expression that returns what is
// wrong, and breaks is a change of the page that makes it return something.
var looks = []struct{ name, page, wrong, breaks string }{
	{
		"one table of outboxes and groups, with a line for each group", "",
		`(() => {
			const tables = document.querySelectorAll('section[aria-labelledby=h-out] table');
			const rows = [...document.querySelectorAll('section[aria-labelledby=h-out] tbody tr:not(.head)')];
			const wrong = rows.filter((r) => !r.querySelector('svg.spark polyline') || !r.querySelector('svg.spark').ariaLabel && !r.querySelector('svg.spark').getAttribute('aria-label')).map((r) => r.innerText);
			if (tables.length !== 1 || rows.length !== 12) wrong.push(tables.length + ' tables, ' + rows.length + ' rows');
			return wrong;
		})()`,
		`document.querySelector('svg.spark').remove()`,
	},
	{
		"numbers stand right, in digits of one width", "",
		`[...document.querySelectorAll('.grid .n')].filter((e) => getComputedStyle(e).textAlign !== 'end' || !getComputedStyle(e).fontVariantNumeric.includes('tabular-nums')).map((e) => e.outerHTML.slice(0, 100))`,
		`document.querySelector('td.n').style.textAlign = 'start'`,
	},
	{
		"zeros are dim, and thousands separated", "",
		`(() => {
			const dim = getComputedStyle(document.querySelector('.grid .zero')).color;
			const wrong = [...document.querySelectorAll('.grid td.n')].filter((e) => /^\d{4,}$/.test(e.innerText) || (e.innerText === '0' && !e.querySelector('.late')) !== (getComputedStyle(e).color === dim && e.innerText === '0')).map((e) => e.outerHTML.slice(0, 100));
			if (dim === getComputedStyle(document.body).color) wrong.push('a zero looks like a number');
			if (!/\d,\d{3}/.test(document.querySelector('main').innerText)) wrong.push('no thousands');
			return wrong;
		})()`,
		`document.querySelector('td.n:not(.zero)').textContent = '1234'`,
	},
	{
		"all of the window is used, and heads stay in sight", "parked?outbox=main&group=default",
		`(() => {
			const wrong = [];
			if (document.querySelector('main').clientWidth !== document.documentElement.clientWidth) wrong.push('main is narrow');
			const table = [...document.querySelectorAll('table')].at(-1);
			scrollTo(0, scrollY + table.getBoundingClientRect().top + table.clientHeight / 2);
			const top = table.tHead.rows[0].cells[1].getBoundingClientRect().top;
			if (Math.abs(top) > 1) wrong.push('the head is at ' + top);
			scrollTo(0, 0);
			return wrong;
		})()`,
		`document.querySelectorAll('thead th').forEach((e) => e.style.position = 'static')`,
	},
	{
		"what is lost for ever is red, and stands apart", "parked?outbox=main&group=default",
		`(() => {
			const [danger, before] = [document.querySelector('.bulkbar .danger'), document.querySelector('.bulkbar .danger').previousElementSibling];
			document.querySelector('tbody .tick input').click();
			const [red, green] = getComputedStyle(danger).color.match(/\d+/g).map(Number);
			document.querySelector('tbody .tick input').click();
			const wrong = [];
			if (red < 2 * green) wrong.push('its colour is ' + red + ' ' + green);
			const apart = danger.getBoundingClientRect().left - before.getBoundingClientRect().right;
			if (apart < 100) wrong.push('it is ' + apart + ' pixels away');
			return wrong;
		})()`,
		`document.querySelector('.bulkbar .danger').style.margin = 0`,
	},
	{
		"JSON can be closed, and copied", "messages/{seq}?outbox=main&group=default",
		`(() => {
			const inner = document.querySelector('#payload details details');
			if (!inner) return ['nothing nested'];
			const seen = () => inner.querySelector('.leaf').checkVisibility();
			const was = seen();
			inner.querySelector('summary').click();
			const now = seen();
			inner.querySelector('summary').click();
			return [...(was && !now ? [] : ['it does not close']), ...(document.querySelector('[data-copy=payload]').hidden ? ['it cannot be copied'] : [])];
		})()`,
		`document.querySelector('[data-copy=payload]').hidden = true`,
	},
	{
		"the keyboard is at the page after few stops", "",
		`(() => {
			const stops = [...document.querySelectorAll('.skip, .top :is(a[href], button, input, summary)')].filter((e) => e.matches('.skip') || e.checkVisibility({contentVisibilityAuto: true}));
			return stops.length > 17 ? stops.map((e) => e.outerHTML.slice(0, 60)) : [];
		})()`,
		`document.getElementById('prefs').open = document.getElementById('scope').open = true`,
	},
	{
		"a mark, and a title with what is wrong", "?outbox=main",
		`(() => {
			const wrong = [];
			if (!document.querySelector('.brand svg.mark').getBoundingClientRect().width) wrong.push('no mark');
			if (!/^\d+ pages?, \d+ tickets? · Overview · main · leat$/.test(document.title)) wrong.push(document.title);
			return wrong;
		})()`,
		`document.title = 'leat'`,
	},
	{
		"alarms are links with a cause and a runbook, the worst first", "",
		`(() => {
			const alarms = [...document.querySelectorAll('li.alarm')];
			const rank = ['Page', 'Ticket', 'Note'];
			return alarms.filter((a, i) => !a.querySelector('h3 a[href]') || !a.querySelector('p').innerText || a.innerText.includes('Note') === !!a.querySelector('a[href*="operations.md#leat"]')
				|| i > 0 && rank.indexOf(alarms[i - 1].querySelector('.tag').innerText) > rank.indexOf(a.querySelector('.tag').innerText)).map((a) => a.innerText);
		})()`,
		`document.querySelector('li.alarm').parentElement.append(document.querySelector('li.alarm'))`,
	},
}

// The pages look as they should. Each check also finds the mistake it is meant for.
func TestLook(t *testing.T) {
	t.Parallel()
	s := newStudy(t, 2000, inMemory)
	server := httptest.NewServer(s.d)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	b := newBrowser(t)
	b.scheme("light")
	b.do(chromedp.EmulateViewport(1280, 800))
	for _, look := range looks {
		b.open(server.URL + "/ops/leat/" + s.path(look.page))
		b.loaded()
		require.Empty(t, eval[[]string](b, look.wrong), look.name)
		require.NotEmpty(t, eval[[]string](b, "(() => { "+look.breaks+"; return "+look.wrong+"; })()"), "%s: nothing is found", look.name) // at once: pages are refreshed
	}
	t.Run("cards on a phone", func(t *testing.T) {
		b.do(chromedp.EmulateViewport(400, 800))
		b.open(server.URL + "/ops/leat/parked?outbox=main&group=default")
		require.Equal(t, "grid none", eval[string](b, `[document.querySelector('.cards tbody tr'), document.querySelector('.p2.zero, .calm')].map((e) => e ? getComputedStyle(e).display : 'none').join(' ')`))
		tall := eval[int](b, "document.documentElement.scrollHeight")
		t.Logf("%d pixels", tall)
		require.Less(t, tall, 40_000)
	})
}

// Charts have a name and a unit and a fixed colour per name, and are collapsed where nothing changes. New
// figures are drawn in place.
func TestCharts(t *testing.T) {
	t.Parallel()
	s := newStudy(t, 2000, inMemory)
	server := httptest.NewServer(s.d)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	b := newBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 800))
	b.open(server.URL + "/ops/leat/")
	b.until(`document.querySelectorAll('.charts canvas').length >= 3`)
	require.Equal(t, []string{"Oldest in the log seconds", "Backlog messages", "Messages per second"},
		eval[[]string](b, `[...document.querySelector('details.fold[open][data-history$=main] .charts').querySelectorAll('figcaption')].map((e) => e.textContent)`))
	require.Equal(t, "UTC", eval[string](b, `document.querySelector('.u-legend .u-label').textContent`))
	require.Positive(t, eval[int](b, `[...document.querySelectorAll('details.fold:not([open])')].filter((e) => e.innerText.includes('flat')).length`))
	require.Empty(t, eval[[]string](b, `(() => {
		const colours = new Map();
		const wrong = [];
		for (const row of document.querySelector('details.fold[open][data-history$=main] .charts').querySelectorAll('.u-legend tr')) {
			const [name, colour] = [row.querySelector('.u-label').textContent, getComputedStyle(row.querySelector('.u-marker')).borderColor];
			if (['UTC', 'enqueued'].includes(name)) continue;
			if (colours.has(name) && colours.get(name) !== colour) wrong.push(name + ' has two colours');
			if (!colours.has(name) && [...colours.values()].includes(colour)) wrong.push(name + ' has the colour of another one');
			colours.set(name, colour);
		}
		return colours.size === 5 ? wrong : [colours.size + ' names'];
	})()`))
	eval[bool](b, `(() => {
		window.was = [...document.querySelectorAll('.charts canvas')];
		window.drawn = 0;
		const ask = window.fetch;
		window.fetch = (...of) => ask(...of).then((answer) => { setTimeout(() => { window.drawn++; }, 1000); return answer; });
		return true;
	})()`)
	b.until("window.drawn > 0")
	require.True(t, eval[bool](b, `window.was.length > 0 && window.was.every((c) => c.isConnected)`))
}
