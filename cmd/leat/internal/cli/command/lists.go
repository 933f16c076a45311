package command

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/show"
)

// Page returns the rows after a cursor, and the cursor of the next page, "" at the end.
type Page[T any] func(after string, limit int) (rows []T, next string, err error)

// Pages prints one page, or all of them.
func Pages[T any](d *Deps, flags Paging, list show.List[T], fetch Page[T]) error {
	const most = 10_000
	if flags.Limit < 1 || flags.Limit > most {
		return Usage("--limit", strconv.Itoa(flags.Limit), "must be 1 to 10000")
	}
	if !flags.All {
		rows, next, err := fetch(flags.After, flags.Limit)
		if err != nil {
			return err
		}
		if next != "" && d.Format == show.Table {
			defer d.Note("There is more: --after %s, or --all", next)
		}
		return list.Print(d.Printer, rows, next)
	}
	return allPages(d, flags, list, fetch)
}

// allPages collects the pages of a table or document, and streams lines.
func allPages[T any](d *Deps, flags Paging, list show.List[T], fetch Page[T]) error {
	var kept []T
	for after := flags.After; ; {
		rows, next, err := fetch(after, flags.Limit)
		if err != nil {
			return err
		}
		if d.Format == show.JSONL {
			err = list.Stream(d.Printer, rows)
		} else {
			kept = append(kept, rows...)
		}
		if err != nil || next == "" {
			return finish(d, list, kept, err)
		}
		after = next
	}
}

func finish[T any](d *Deps, list show.List[T], kept []T, err error) error {
	if err != nil || d.Format == show.JSONL {
		return err
	}
	return list.Print(d.Printer, kept, "")
}

// Numbered is a Page whose cursor is the number of its last row.
func Numbered[A, T any](fetch func(after int64, limit int) ([]A, error), number func(A) int64, row func(A) T) Page[T] {
	return func(after string, limit int) ([]T, string, error) {
		start, err := Cursor(after)
		if err != nil {
			return nil, "", err
		}
		found, err := fetch(start, limit)
		if err != nil {
			return nil, "", err
		}
		rows := make([]T, len(found))
		for i, one := range found {
			rows[i] = row(one)
		}
		if len(found) < limit {
			return rows, "", nil
		}
		return rows, strconv.FormatInt(number(found[len(found)-1]), 10), nil
	}
}

// Cursor parses the cursor of a list.
func Cursor(after string) (int64, error) {
	if after == "" {
		return 0, nil
	}
	number, err := strconv.ParseInt(after, 10, 64)
	if err != nil || number < 0 {
		return 0, Usage("--after", after, "must be a number that a page before has named")
	}
	return number, nil
}

// RowsOf converts all.
func RowsOf[A, T any](all []A, row func(A) T) []T {
	rows := make([]T, len(all))
	for i, one := range all {
		rows[i] = row(one)
	}
	return rows
}

// UTC returns t for JSON.
func UTC(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}

// TextColumn is a column of text from outside, which is escaped.
func TextColumn[T any](title string, get func(T) string) show.Column[T] {
	return show.Column[T]{Title: title, Cell: func(_ *show.Printer, row T) string { return show.Cell(get(row)) }}
}

// SentenceColumn is the last column of a table, with text from outside. It stands below its row if the
// terminal is too narrow.
func SentenceColumn[T any](title string, get func(T) string) show.Column[T] {
	column := TextColumn(title, get)
	column.Below = func(_ *show.Printer, row T) string { return show.Plain(get(row)) }
	return column
}

// Identified returns a column of ids, and a last column of sentences. If the terminal is too narrow, both stand below
// the row, the id first, so that it can be copied.
func Identified[T any](title string, id func(T) string, sentences string, get func(T) string) (ids, last show.Column[T]) {
	ids, last = TextColumn(title, id), SentenceColumn(sentences, get)
	ids.Beside = true
	last.Below = func(_ *show.Printer, row T) string {
		if get(row) == "" {
			return show.Plain(id(row))
		}
		return show.Plain(id(row)) + ": " + show.Plain(get(row))
	}
	return ids, last
}

// WholeColumn is a SentenceColumn whose cells are never cut, so that they can be copied.
func WholeColumn[T any](title string, get func(T) string) show.Column[T] {
	column := SentenceColumn(title, get)
	column.Cell = column.Below
	return column
}

// CountColumn is a column of numbers.
func CountColumn[T any](title string, get func(T) int64) show.Column[T] {
	return show.Column[T]{Title: title, Right: true, Cell: func(_ *show.Printer, row T) string { return show.Count(get(row)) }}
}

// IDColumn is a column of numbers that are identifiers.
func IDColumn[T any](title string, get func(T) int64) show.Column[T] {
	return show.Column[T]{Title: title, Right: true, Cell: func(_ *show.Printer, row T) string { return strconv.FormatInt(get(row), 10) }}
}

// TimeColumn is a column of times.
func TimeColumn[T any](title string, get func(T) time.Time) show.Column[T] {
	return show.Column[T]{Title: title, Cell: func(p *show.Printer, row T) string { return p.Time(get(row)) }}
}

// SortedKeys returns the keys of a map in order.
func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// About is the sign in front of an estimated figure.
func About(estimated bool) string {
	if estimated {
		return "~"
	}
	return ""
}
