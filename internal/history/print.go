package history

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

// longWord is a text too long to show in full, such as an id of kilobytes.
var longWord = regexp.MustCompile(`(\S{80})\S{40,}`)

func legible(line string) string { return longWord.ReplaceAllString(line, "$1…") }

// Print writes the verdict for human readers.
func (v Verdict) Print(w io.Writer) error {
	var b strings.Builder
	v.printFigures(&b)
	v.printFaults(&b)
	for _, f := range v.Checks {
		f.print(&b)
	}
	if names := v.Violated(); len(names) > 0 {
		fmt.Fprintf(&b, "\nVIOLATED: %s\n", strings.Join(names, ", "))
	} else {
		b.WriteString("\nNo violation.\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print verdict: %w", err)
	}
	return nil
}

func (v Verdict) printFigures(b *strings.Builder) {
	in, f := v.Input, v.Figures
	fmt.Fprintf(b, "%d lines of %d files, %d starts of processes, %d torn lines\n", in.Lines, in.Files, in.Starts, in.Torn)
	fmt.Fprintf(b, "%d events: %d committed, %d rolled back, %d unresolved (%d outcomes unknown to the producer)\n",
		f.Events, f.Committed, f.RolledBack, f.Unresolved, f.Unknown)
	if f.Forgotten > 0 {
		fmt.Fprintf(b, "%d events that the database has forgotten, as it went back\n", f.Forgotten)
	}
	fmt.Fprintf(b, "%d records, %d of them repeats, %d derived events, %d messages waiting\n",
		f.Records, f.Repeats, f.DerivedEvents, f.Waiting)
	fmt.Fprintf(b, "%d deliveries, %d of them again; %d effects, %d of them allowed repeats\n",
		f.Deliveries, f.Redeliveries, f.Effects, f.AllowedRepeats)
}

func (v Verdict) printFaults(b *strings.Builder) {
	if len(v.Faults) == 0 {
		b.WriteString("no faults\n\n")
		return
	}
	t := TotalFaults(v.Faults)
	fmt.Fprintf(b, "%d faults, %d of them with work under way and a consequence, at %d points\n\n", t.Injected, t.Counted, t.Points)
}

func (f Finding) print(b *strings.Builder) {
	switch {
	case f.Unjudged != "":
		fmt.Fprintf(b, "%-13s not judged  %s\n", f.Name, f.Unjudged)
		return
	case f.Violations == 0:
		fmt.Fprintf(b, "%-13s ok          %s (%d checked)\n", f.Name, f.Promise, f.Checked)
		return
	}
	fmt.Fprintf(b, "%-13s VIOLATED    %s: %d times (%d checked)\n", f.Name, f.Promise, f.Violations, f.Checked)
	if f.First == nil {
		return
	}
	fmt.Fprintf(b, "  first: %s\n", legible(f.First.Summary))
	for _, line := range f.First.Lines {
		fmt.Fprintf(b, "    %s\n", legible(line))
	}
	if f.First.Omitted > 0 {
		fmt.Fprintf(b, "    (%d more lines in between)\n", f.First.Omitted)
	}
}
