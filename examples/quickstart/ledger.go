package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// What a line of the ledger says of a webhook.
const (
	noteCommitted  = "committed"
	noteCalm       = "calm" // committed in the calm phase, all being warm
	noteRolledBack = "rolled-back"
)

// ledger is a file beside the databases in which the ingest service notes how the
// transaction of each webhook ended, right after it has. What was rolled back is
// known from nowhere else.
type ledger struct {
	file *os.File
}

func ledgerPath(dir string) string { return filepath.Join(dir, "ledger.txt") }

func openLedger(dir string) (*ledger, error) {
	f, err := os.OpenFile(ledgerPath(dir), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return &ledger{file: f}, err
}

// note appends a line. It may be called concurrently.
func (l *ledger) note(what, id string, at time.Time) error {
	_, err := fmt.Fprintf(l.file, "%s %s %d\n", what, id, at.UnixNano())
	return err
}

func (l *ledger) close() { _ = l.file.Close() }

// entries are what a ledger says, by id.
type entries struct {
	// committedAt is when the commits returned.
	committedAt map[string]time.Time
	// calm are those of the calm phase that its latency is of, rolledBack what rolled back.
	calm, rolledBack map[string]bool
}

func readLedger(dir string) (entries, error) {
	e := entries{committedAt: map[string]time.Time{}, calm: map[string]bool{}, rolledBack: map[string]bool{}}
	f, err := os.Open(ledgerPath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	if err != nil {
		return e, err
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		part := strings.Fields(lines.Text())
		if len(part) != 3 {
			return e, fmt.Errorf("ledger: %q is no entry", lines.Text())
		}
		nanos, err := strconv.ParseInt(part[2], 10, 64)
		if err != nil {
			return e, fmt.Errorf("ledger: %q: %w", lines.Text(), err)
		}
		switch id := part[1]; part[0] {
		case noteRolledBack:
			e.rolledBack[id] = true
		case noteCalm:
			e.calm[id] = true
			fallthrough
		default:
			e.committedAt[id] = time.Unix(0, nanos)
		}
	}
	return e, lines.Err()
}
