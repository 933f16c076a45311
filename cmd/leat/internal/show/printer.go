// Package show prints results: as tables for operators, as versioned JSON for programs.
package show

import (
	"fmt"
	"io"
	"time"
)

// Format is the format of results.
type Format string

// Formats of results.
const (
	Table Format = "table"
	JSON  Format = "json"
	JSONL Format = "jsonl"
)

// Times is the form of times in tables.
type Times string

// Forms of times.
const (
	Relative Times = "relative"
	UTC      Times = "utc"
	Local    Times = "local"
)

// Version is the version of the JSON.
const Version = 1

// Printer prints results to Out, and other messages to Notes.
type Printer struct {
	Out, Notes io.Writer
	Format     Format
	Times      Times
	// Color is set if tables are colored.
	Color bool
	// Width is the width of the terminal; 0: there is none.
	Width int
	// Now is the clock for relative times.
	Now func() time.Time
}

// Note prints a message that is not a result.
func (p *Printer) Note(format string, args ...any) {
	_, _ = fmt.Fprintf(p.Notes, format+"\n", args...)
}

// Line prints a line of text, but only in the table format.
func (p *Printer) Line(format string, args ...any) error {
	_, err := fmt.Fprintf(p.Out, format+"\n", args...)
	return err
}

// Time returns t for tables, – if it is zero.
func (p *Printer) Time(t time.Time) string {
	switch {
	case t.IsZero():
		return None
	case p.Times == UTC:
		return t.UTC().Format("2006-01-02 15:04:05Z")
	case p.Times == Local:
		return t.Local().Format("2006-01-02 15:04:05 -0700") //nolint:gosmopolitan // the operator asked for it
	}
	ago := p.Now().Sub(t)
	if ago < 0 {
		return "in " + Duration(-ago)
	}
	return Duration(ago) + " ago"
}

// Clock returns the time of day of t, for timelines.
func (p *Printer) Clock(t time.Time) string {
	if p.Times == Relative {
		return t.Local().Format("15:04:05.000") //nolint:gosmopolitan // for operators
	}
	return p.Time(t)
}
