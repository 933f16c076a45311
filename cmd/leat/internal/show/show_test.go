package show_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/cmd/leat/internal/show"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0ms", 120 * time.Millisecond: "120ms", 1500 * time.Millisecond: "1.5s", 2 * time.Second: "2s", 42 * time.Second: "42s",
		9*time.Minute + 12*time.Second: "9m12s", 3*time.Hour + 12*time.Minute: "3h12m", 47 * time.Hour: "47h00m",
		53*24*time.Hour + 5*time.Hour: "53d05h", -time.Minute: "-1m00s",
	} {
		require.Equal(t, want, show.Duration(d))
		require.Equal(t, "-106751d23h", show.Duration(math.MinInt64))
	}
}

func TestCountAndBytes(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1204: "1,204", 1234567: "1,234,567", -1204: "-1,204", -999: "-999", math.MinInt64: "-9,223,372,036,854,775,808"} {
		require.Equal(t, want, show.Count(n))
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 4509715661: "4.2 GiB", math.MaxInt64: "8.0 EiB"} {
		require.Equal(t, want, show.Bytes(n))
	}
	require.Equal(t, "1 record, 2 keys, 1,000 records", show.Things(1, "record")+", "+show.Things(2, "key")+", "+show.Things(1000, "record"))
}

// What others have written steers no terminal.
func TestPlain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "–", "order-1": "order-1", "é 漢": "é 漢", "a\x1b[31mb": `a\x1b[31mb`, "a\nb": `a\nb`, "\xff": `\xff`, "a\u202eb": `a\u202eb`, "say \"no\"": `say "no"`,
	} {
		require.Equal(t, want, show.Plain(text))
	}
	long := show.Cell(string(bytes.Repeat([]byte("é"), 200)))
	require.Len(t, []rune(long), 80)
	require.Contains(t, long, "…")
}

func printer(format show.Format, times show.Times) (*show.Printer, *bytes.Buffer, *bytes.Buffer) {
	var out, notes bytes.Buffer
	now := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
	return &show.Printer{Out: &out, Notes: &notes, Format: format, Times: times, Now: func() time.Time { return now }}, &out, &notes
}

func TestTime(t *testing.T) {
	t.Parallel()
	p, _, _ := printer(show.Table, show.Relative)
	now := p.Now()
	require.Equal(t, "5m00s ago", p.Time(now.Add(-5*time.Minute)))
	require.Equal(t, "in 2h00m", p.Time(now.Add(2*time.Hour)))
	require.Equal(t, "–", p.Time(time.Time{}))
	p, _, _ = printer(show.Table, show.UTC)
	require.Equal(t, "2026-01-05 09:00:00Z", p.Time(now.Add(-time.Hour)))
}

type row struct {
	Name string `json:"name"`
	N    int64  `json:"n"`
}

func list() show.List[row] {
	return show.List[row]{Name: "rows", Empty: "There is none.", Columns: []show.Column[row]{
		{Title: "NAME", Cell: func(_ *show.Printer, r row) string { return show.Cell(r.Name) }},
		{Title: "N", Right: true, Cell: func(_ *show.Printer, r row) string { return show.Count(r.N) }},
	}}
}

func TestList(t *testing.T) {
	t.Parallel()
	rows := []row{{"漢字", 1}, {"<b>", 1204}}
	p, out, notes := printer(show.Table, show.UTC)
	require.NoError(t, list().Print(p, rows, ""))
	require.Equal(t, "NAME      N\n漢字      1\n<b>   1,204\n", out.String(), "aligned by what they take on a terminal")
	require.NoError(t, list().Print(p, nil, ""))
	require.Equal(t, "There is none.\n", notes.String(), "no result, so not on standard output")

	p, out, _ = printer(show.JSON, show.UTC)
	require.NoError(t, list().Print(p, rows, "7"))
	require.JSONEq(t, `{"v":1,"rows":[{"name":"漢字","n":1},{"name":"<b>","n":1204}],"next":"7"}`, out.String())
	require.Contains(t, out.String(), "<b>", "as it is")
	require.True(t, strings.HasPrefix(out.String(), `{"v":1,`), "the version comes first")
	p, out, _ = printer(show.JSON, show.UTC)
	require.NoError(t, list().Print(p, nil, ""))
	require.JSONEq(t, `{"v":1,"rows":[]}`, out.String())

	p, out, _ = printer(show.JSONL, show.UTC)
	require.NoError(t, list().Print(p, rows, "7"))
	first, second, ok := strings.Cut(strings.TrimSuffix(out.String(), "\n"), "\n")
	require.True(t, ok)
	require.JSONEq(t, `{"v":1,"name":"漢字","n":1}`, first)
	require.JSONEq(t, `{"v":1,"name":"<b>","n":1204}`, second)
}

func TestColor(t *testing.T) {
	t.Parallel()
	p, out, _ := printer(show.Table, show.UTC)
	require.NoError(t, list().Print(p, []row{{"a", 1}}, ""))
	require.NotContains(t, out.String(), "\x1b")
	p.Color = true
	require.NoError(t, list().Print(p, []row{{"a", 1}}, ""))
	require.Contains(t, out.String(), "\x1b[1m")
}

// Document is one line of JSON, whatever the object is.
func TestDocument(t *testing.T) {
	t.Parallel()
	p, out, _ := printer(show.JSON, show.UTC)
	require.NoError(t, p.Document(struct{}{}))
	require.Equal(t, "{\"v\":1}\n", out.String())
	require.Error(t, p.Document(math.Inf(1)))
	out.Reset()
	require.NoError(t, p.Object(row{"a", 2}, show.Fact{Name: "name", Value: "a"}))
	require.True(t, json.Valid(out.Bytes()))
	p, out, _ = printer(show.Table, show.UTC)
	require.NoError(t, p.Object(row{"a", 2}, show.Fact{Name: "name", Value: "a"}, show.Fact{Name: "none", Value: show.None}, show.Fact{Name: "long name", Value: "b"}))
	require.Equal(t, "name       a\nlong name  b\n", out.String())
}

// A table fits the terminal: texts are cut, the widest first, ids last, numbers never.
func TestList_Width(t *testing.T) {
	t.Parallel()
	type record struct{ id, topic, why string }
	l := show.List[record]{Columns: []show.Column[record]{
		{Title: "SEQ", Right: true, Cell: func(*show.Printer, record) string { return "1,234,567" }},
		{Title: "ID", Cell: func(_ *show.Printer, r record) string { return r.id }},
		{Title: "TOPIC", Cell: func(_ *show.Printer, r record) string { return r.topic }},
		{Title: "WHY", Cell: func(p *show.Printer, r record) string { return p.Paint(text.FgRed, r.why) }},
	}}
	rows := []record{{strings.Repeat("0", 36), strings.Repeat("t", 60), strings.Repeat("漢", 60)}, {"1", "2", "3"}}
	for width, whole := range map[int]bool{0: true, 300: true, 160: false, 80: false, 40: false} {
		p, out, _ := printer(show.Table, show.UTC)
		p.Width, p.Color = width, true
		require.NoError(t, l.Print(p, rows, ""))
		require.Contains(t, out.String(), "SEQ")
		for line := range strings.Lines(out.String()) {
			got := text.StringWidthWithoutEscSequences(strings.TrimSuffix(line, "\n"))
			require.True(t, whole || got <= width, "%d columns at %d: %s", got, width, line)
		}
		if width >= 80 || whole {
			require.Contains(t, out.String(), rows[0].id, "ids are to be copied")
			require.Contains(t, out.String(), "1,234,567")
		}
		require.Equal(t, whole, !strings.Contains(out.String(), "…"), width)
		for line := range strings.Lines(out.String()) {
			require.Equal(t, strings.Contains(line, "\x1b[31m"), strings.Contains(line, "\x1b[0m") && !strings.Contains(line, "SEQ"), line)
		}
	}
}

// Words go to the next line, and long ones stay whole.
func TestWrap(t *testing.T) {
	t.Parallel()
	p, _, _ := printer(show.Table, show.UTC)
	p.Width = 20
	require.Equal(t, []string{"- one two three four", "  five", "  " + strings.Repeat("x", 30), "  six"},
		p.Wrap("one two three four five "+strings.Repeat("x", 30)+" six", "- ", "  "))
	require.Equal(t, []string{"- "}, p.Wrap("", "- ", "  "))
}

// Where a terminal has no room for a last column of sentences, each stands below its row, and is not cut.
func TestList_Below(t *testing.T) {
	t.Parallel()
	why := func(_ *show.Printer, r row) string { return r.Name }
	l := show.List[row]{Columns: []show.Column[row]{
		{Title: "N", Right: true, Cell: func(_ *show.Printer, r row) string { return show.Count(r.N) }},
		{Title: "WHY", Cell: why, Below: why},
	}}
	rows := []row{{"one two three four five six seven", 1}, {"", 2}, {show.None, 3}, {"eight", 4}}
	for width, want := range map[int]string{
		0:  "N  WHY\n1  one two three four five six seven\n2\n3  –\n4  eight\n",
		36: "N  WHY\n1  one two three four five six seven\n2\n3  –\n4  eight\n",
		35: "N\n1\n    one two three four five six\n    seven\n2\n3\n4\n    eight\n",
		20: "N\n1\n    one two three\n    four five six\n    seven\n2\n3\n4\n    eight\n",
	} {
		p, out, _ := printer(show.Table, show.UTC)
		p.Width = width
		require.NoError(t, l.Print(p, rows, ""))
		require.Equal(t, want, out.String(), width)
	}
}

// Sentences and facts fit a terminal, what is to be copied stays whole.
func TestParagraph(t *testing.T) {
	t.Parallel()
	for width, want := range map[int]string{
		0:  "five  words that are said\nname     five words that are said\npayload  five  words that are said\n",
		25: "five  words that are said\nname     five words that\n         are said\npayload  five  words that are said\n",
		20: "five words that are\n  said\nname     five words\n         that are\n         said\npayload  five  words that are said\n",
	} {
		p, out, _ := printer(show.Table, show.UTC)
		p.Width = width
		require.NoError(t, p.Paragraph("five  %s that are said", "words"))
		require.NoError(t, p.Object(nil, show.Fact{Name: "name", Value: "five words that are said"}, show.Fact{Name: "payload", Value: "five  words that are said", Whole: true}))
		require.Equal(t, want, out.String(), width)
	}
}
