// Package show prints results: tables for operators, versioned JSON for programs.
package show

import (
	"fmt"
	"io"
	"time"
)

// Format is the form of results.
type Format string

// Forms of results.
const (
	Table Format = "table"
	JSON  Format = "json"
	JSONL Format = "jsonl"
)

// Times says how times are printed in tables.
type Times string

// How times are printed.
const (
	Relative Times = "relative"
	UTC      Times = "utc"
	Local    Times = "local"
)

// Version is that of the JSON.
const Version = 1

// Printer prints results to Out, and what is none to Notes.
type Printer struct {
	Out, Notes io.Writer
	Format     Format
	Times      Times
	// Color is set if tables are coloured.
	Color bool
	// Width is that of the terminal; 0: none.
	Width int
	// Now is the time that relative times count from.
	Now func() time.Time
}

// Note tells the operator something that is not a result.
func (p *Printer) Note(format string, args ...any) {
	_, _ = fmt.Fprintf(p.Notes, format+"\n", args...)
}

// Line prints a line of text, which is only for tables.
func (p *Printer) Line(format string, args ...any) error {
	_, err := fmt.Fprintf(p.Out, format+"\n", args...)
	return err
}

// Time returns t for tables, – for none.
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

// Clock returns the time of t's day for timelines.
func (p *Printer) Clock(t time.Time) string {
	if p.Times == Relative {
		return t.Local().Format("15:04:05.000") //nolint:gosmopolitan // for the operator's eyes
	}
	return p.Time(t)
}
