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

// readLedger returns when each committed transaction's commit had returned, and
// the ids that were rolled back.
func readLedger(dir string) (committed map[string]time.Time, rolledBack map[string]bool, err error) {
	committed, rolledBack = map[string]time.Time{}, map[string]bool{}
	f, err := os.Open(ledgerPath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return committed, rolledBack, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		part := strings.Fields(lines.Text())
		if len(part) != 3 {
			return nil, nil, fmt.Errorf("ledger: %q is no entry", lines.Text())
		}
		nanos, err := strconv.ParseInt(part[2], 10, 64)
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("ledger: %q: %w", lines.Text(), err)
		case part[0] == noteCommitted:
			committed[part[1]] = time.Unix(0, nanos)
		default:
			rolledBack[part[1]] = true
		}
	}
	return committed, rolledBack, lines.Err()
}
