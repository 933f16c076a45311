package open

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
)

func (x sqlExamination) journal(ctx context.Context) ([]doctor.Finding, error) {
	var mode string
	if err := x.db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return nil, err
	}
	const advice = "PRAGMA journal_mode = WAL, once: the file keeps it"
	switch {
	case mode == "wal":
		return nil, nil
	case slices.Contains([]string{"memory", "off"}, mode):
		return []doctor.Finding{{Verdict: doctor.Fail, Text: "journal_mode is " + mode + ": a crash breaks the file, and relays refuse it", Advice: advice}}, nil
	default:
		return []doctor.Finding{{Verdict: doctor.Warn, Text: "journal_mode is " + mode + ": who reads keeps the writer waiting, and the other way round", Advice: advice}}, nil
	}
}

const (
	othersRead  = 0o004
	othersWrite = 0o002
)

func (x sqlExamination) permissions(context.Context) ([]doctor.Finding, error) {
	info, err := os.Stat(x.file)
	if err != nil {
		return nil, err
	}
	var who string
	switch mode := info.Mode().Perm(); {
	case mode&othersWrite != 0:
		who = "write"
	case mode&othersRead != 0:
		who = "read"
	default:
		return nil, nil
	}
	return []doctor.Finding{{
		Verdict: doctor.Warn, Text: fmt.Sprintf("every user of this machine may %s the file (%s)", who, info.Mode().Perm()), Advice: "chmod o-rw, also of its -wal and -shm",
	}}, nil
}

// longLog is the size from which a write-ahead log counts as long. Checkpoints every thousand pages keep it
// at 4 MiB.
const longLog = 256 << 20

func (x sqlExamination) writeAheadLog(context.Context) ([]doctor.Finding, error) {
	info, err := os.Stat(x.file + "-wal")
	if errors.Is(err, os.ErrNotExist) || err == nil && info.Size() < longLog {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []doctor.Finding{{
		Verdict: doctor.Warn, Text: fmt.Sprintf("the write-ahead log has %d MiB: somebody who reads all the time keeps it from being emptied", info.Size()>>20),
		Advice: "end transactions that only read, then PRAGMA wal_checkpoint(TRUNCATE)",
	}}, nil
}
