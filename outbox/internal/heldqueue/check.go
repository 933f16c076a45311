package heldqueue

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

// Check returns the violations of the invariant in rows, which are all rows of a group. It is for
// tests, which call it after each step.
func Check(rows []Row) error {
	var errs []error
	wrong := func(row *Row, format string, args ...any) {
		errs = append(errs, fmt.Errorf("leat: row %d of key %q, %s: %s", row.Seq, row.Key, row.State, fmt.Sprintf(format, args...)))
	}
	there := make(map[int64]bool, len(rows))
	lines := make(map[driver.Key]int)
	for _, row := range slices.SortedFunc(slices.Values(rows), ascending) {
		if there[row.Seq] {
			wrong(&row, "is there twice")
		}
		there[row.Seq] = true
		if (row.State == Retry) == row.Next.IsZero() {
			wrong(&row, "its next time is %s", row.Next)
		}
		if row.Attempts < 0 || row.State == Dead && row.Attempts != 0 || len(row.Errors) > maxErrors || row.Since.IsZero() {
			wrong(&row, "%d attempts, %d errors, since %s", row.Attempts, len(row.Errors), row.Since)
		}
		if row.State == Dead {
			continue
		}
		place := lines[row.Key]
		lines[row.Key]++
		switch {
		case !row.ordered() && row.State == Wait:
			wrong(&row, "waits without a key")
		case row.ordered() && place == 0 && row.State == Wait:
			wrong(&row, "is the first, and waits")
		case row.ordered() && place > 0 && row.State == Retry:
			wrong(&row, "is number %d of its line, and is retried", place+1)
		}
	}
	return errors.Join(errs...)
}

// CheckDue returns what is wrong with an answer of Due. Rows are all rows of the group, by is the
// time of the answer, and the answer was not cut short by bytes.
func CheckDue(rows []Row, due []driver.Held, by time.Time, want Want) error {
	if len(due) > want.Limit {
		return fmt.Errorf("leat: %d records are due, want at most %d", len(due), want.Limit)
	}
	lines := make(map[driver.Key][]Row)
	bySeq := make(map[int64]Row, len(rows))
	var expected []int64
	for _, row := range slices.SortedFunc(slices.Values(rows), ascending) {
		bySeq[row.Seq] = row
		if row.State != Dead && row.ordered() {
			lines[row.Key] = append(lines[row.Key], row)
		}
		if row.isDue(by) && !slices.Contains(want.Except, row.Key.Topic) {
			expected = append(expected, row.Seq)
		}
	}
	answered := make(map[int64]bool, len(due))
	for i := range due {
		row, ok := bySeq[due[i].Seq]
		if !ok || i > 0 && due[i].Seq <= due[i-1].Seq || slices.Contains(want.Except, row.Key.Topic) {
			return fmt.Errorf("leat: record %d is due: is not held, not in order, or of a topic that is left out", due[i].Seq)
		}
		if !row.isDue(by) && !follows(&row, lines[row.Key], answered) {
			return fmt.Errorf("leat: record %d of key %q is due, %s, passing another", row.Seq, row.Key, row.State)
		}
		answered[row.Seq] = true
	}
	for _, seq := range expected {
		if !answered[seq] && len(due) < want.Limit {
			return fmt.Errorf("leat: record %d is due and was left out", seq)
		}
	}
	return nil
}

func (r *Row) isDue(by time.Time) bool {
	return r.State == Retry && !r.Next.After(by)
}

// follows reports whether row waits, and the one before it in its line is in the answer.
func follows(row *Row, line []Row, answered map[int64]bool) bool {
	at := slices.IndexFunc(line, func(r Row) bool { return r.Seq == row.Seq })
	return row.State == Wait && at > 0 && answered[line[at-1].Seq]
}
