package chaos_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/chaos"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
)

func TestRun_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]chaos.Options{
		"For":                    {Dir: "x", For: time.Millisecond},
		"Faults":                 {Dir: "x", Faults: -1},
		"Dir":                    {},
		"Rate":                   {Dir: "x", Rate: -1},
		"Accounts":               {Dir: "x", Accounts: 1},
		"Gap":                    {Dir: "x", Gap: -1},
		"ActGap":                 {Dir: "x", ActGap: -1},
		"Acts":                   {Dir: "x", Acts: []string{"everything"}},
		"Sabotage":               {Dir: "x", Sabotage: "everything"},
		"breaks nothing":         {Dir: "x", Store: roles.SQLite, Sabotage: roles.IDCursor, Extras: roles.Extras{Open: opened}},
		"does not go back":       {Dir: "x", Store: roles.DynamoDB, Sabotage: roles.NoMarks},
		"Store":                  {Dir: "x", Store: "everything"},
		"Open":                   {Dir: "x", Store: roles.MySQL},
		"Acts \"log/truncated\"": {Dir: "x", Store: roles.SQLite, Acts: []string{"log/truncated"}, Extras: roles.Extras{Open: opened}},
		"Tail true":              {Dir: "x", Store: roles.DynamoDB, Tail: true},
		"without Acts":           {Dir: "x", Content: true, Acts: []string{"log/truncated"}},
		"the daemon":             {Dir: "x", Store: roles.SQLite, Extras: roles.Extras{Open: opened, Daemon: func(context.Context, roles.DaemonRun) error { return nil }}},
	} {
		_, err := chaos.Run(t.Context(), o)
		require.ErrorContains(t, err, want)
	}
}

// A control that cannot be convicted fails every run, so each store lists the controls that can be.
func TestSabotages(t *testing.T) {
	t.Parallel()
	for _, store := range roles.Stores() {
		want := roles.Sabotages()
		switch store {
		case roles.SQLite, roles.DynamoDB:
			want = []string{roles.AckBeforeCommit, roles.NoInbox, roles.PublishBeforeCommit}
		case roles.MySQL, roles.MariaDB:
			want = []string{roles.AckBeforeCommit, roles.NoInbox, roles.IDCursor, roles.PublishBeforeCommit}
		}
		require.Equal(t, want, chaos.Sabotages(store), store)
	}
}

// opened is a roles.Opener that is never called.
func opened(string, string, roles.Dial) (*sql.DB, error) {
	return nil, nil //nolint:nilnil // is not called
}

func TestRun_RefusesTheDirectoryOfAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "history"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "history", "bank-1.jsonl"), nil, 0o600))
	_, err := chaos.Run(t.Context(), chaos.Options{Dir: dir})
	require.ErrorContains(t, err, "holds another run")
}
