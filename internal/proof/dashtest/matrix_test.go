package dashtest_test

import (
	"flag"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var shots = flag.String("shots", "", "a folder for pictures of all pages of the data set, as TestMatrix sees them")

// faults is a script that finds what makes a page hard to use: content wider than the window, text with
// too little contrast, controls without a name, duplicate ids, and headings that skip a level.
const faults = `(() => {
	const faults = [];
	const width = document.documentElement.scrollWidth;
	if (width > innerWidth) faults.push('wider than the window: ' + width);
	const shown = (e) => e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true}) && !e.closest('.vh, .skip');
	const say = (e) => e.outerHTML.slice(0, 120);
	const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
	const rgba = (color) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); return canvas.getImageData(0, 0, 1, 1).data; };
	const light = ([r, g, b]) => [r, g, b].map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
	const behind = (e) => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c; } return rgba(getComputedStyle(document.body).backgroundColor); };
	for (const e of document.querySelectorAll('body *')) {
		if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || !shown(e) || e.disabled || e.closest('svg, option, script, .uplot')) continue;
		const [a, b] = [light(rgba(getComputedStyle(e).color)), light(behind(e))];
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) faults.push('contrast ' + ratio.toFixed(2) + ': ' + say(e));
	}
	for (const e of document.querySelectorAll('input:not([type=hidden]), select, textarea')) {
		if (!e.labels?.length && !e.ariaLabel) faults.push('no label: ' + say(e));
	}
	for (const e of document.querySelectorAll('button, a[href], summary')) {
		if (!e.textContent.trim() && !e.ariaLabel) faults.push('no name: ' + say(e));
	}
	const ids = new Set();
	for (const e of document.querySelectorAll('[id]')) { if (ids.has(e.id)) faults.push('id twice: ' + e.id); ids.add(e.id); }
	for (const e of document.querySelectorAll('[aria-labelledby]')) if (!document.getElementById(e.getAttribute('aria-labelledby'))) faults.push('labelled by nothing: ' + say(e));
	let level = 0;
	for (const e of document.querySelectorAll('main :is(h1, h2, h3)')) { const n = Number(e.tagName[1]); if (n > level + 1) faults.push('heading skips: ' + say(e)); level = n; }
	if (document.querySelectorAll('h1').length !== 1) faults.push('not one h1');
	return faults;
})()`

// Every page is usable: wide and narrow, light and dark, in both densities, with and without scripts. The
// data set has keys that are long, in other scripts, or full of special characters.
func TestMatrix(t *testing.T) {
	t.Parallel()
	s := newStudy(t, 2000, inMemory)
	server := httptest.NewServer(s.d)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	base := server.URL + "/ops/leat/"
	for _, scripts := range []bool{true, false} {
		b := openBrowser(t)
		if !scripts {
			b.withoutScripts()
		}
		for _, density := range []string{"comfortable", "compact"} {
			b.open(base)
			eval[string](b, `document.cookie = "leat_view=auto.`+density+`.ago; path=/ops/leat/"`)
			for _, page := range studyPages {
				b.do(chromedp.EmulateViewport(1280, 800))
				b.scheme("light")
				b.open(base + s.path(page.path))
				require.Equal(t, density, eval[string](b, "document.documentElement.dataset.density"))
				if page.name == "overview" && scripts {
					b.until(`document.querySelectorAll('.charts canvas').length === 3`)
				}
				look := func(name string) {
					t.Helper()
					for _, width := range []int64{1280, 400} {
						b.do(chromedp.EmulateViewport(width, 800))
						for _, scheme := range []string{"light", "dark"} {
							b.scheme(scheme)
							assert.Empty(t, eval[[]string](b, faults), "%s, %d pixels, %s, %s, scripts %v", name, width, scheme, density, scripts)
							if scripts && *shots != "" && (density == "comfortable" || scheme == "light" && width == 1280) {
								b.shot(name, width, scheme, density)
							}
						}
					}
				}
				look(page.name)
				if !eval[bool](b, `!!document.querySelector('tbody .tick input')`) {
					continue
				}
				b.do(chromedp.Click("tbody .tick input"))
				look(page.name + "-chosen")
				if page.name == "parked-group" {
					b.do(chromedp.Click(".bulkbar .primary"), chromedp.WaitVisible("#count"))
					b.loaded()
					look("confirm")
				}
			}
		}
		if scripts {
			b.hears("status of 404")
		}
	}
}

// The checks of TestMatrix find the faults they are meant for.
func TestMatrixFindsFaults(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	server := httptest.NewServer(newStudy(t, 10, inMemory).d)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	b.scheme("light")
	b.open(server.URL + "/ops/leat/parked?outbox=main&group=default")
	b.do(chromedp.Click("tbody .tick input"))
	require.Empty(t, eval[[]string](b, faults))
	button := "document.querySelector('.bulkbar .primary')"
	for fault, how := range map[string]string{
		"contrast":              button + ".style.color = 'var(--muted)'",
		"wider than the window": button + ".style.minWidth = '2000px'",
		"no name":               button + ".textContent = ''",
		"no label":              "document.querySelector('.tick input').ariaLabel = ''",
		"id twice":              button + ".id = 'main'; document.querySelector('h1').id = 'main'",
		"labelled by nothing":   button + ".setAttribute('aria-labelledby', 'nothing')",
		"heading skips":         "document.querySelector('main').append(document.createElement('h3')); document.querySelectorAll('main h2').forEach((e) => e.remove())",
		"not one h1":            "document.querySelector('main').append(document.createElement('h1'))",
	} {
		b.do(chromedp.Reload(), chromedp.WaitVisible("main h1"), chromedp.Click("tbody .tick input"))
		eval[bool](b, "(() => { "+how+"; return true; })()")
		require.Contains(t, strings.Join(eval[[]string](b, faults), "\n"), fault)
	}
}

// shot saves a picture of the whole page.
func (b *browser) shot(name string, width int64, scheme, density string) {
	b.t.Helper()
	height := min(3000, eval[int64](b, "document.documentElement.scrollHeight"))
	b.do(chromedp.EmulateViewport(width, height))
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(b.t, err)
	if density == "comfortable" {
		density = ""
	}
	file := filepath.Join(*shots, name+"-"+map[int64]string{1280: "1280", 400: "400"}[width]+"-"+scheme+density+".png")
	require.NoError(b.t, os.WriteFile(file, png, 0o644))
	b.do(chromedp.EmulateViewport(width, 800))
}
