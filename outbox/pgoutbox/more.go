package pgoutbox

import (
	"fmt"
)

// moreStatements are the rendered SQL of own connections and of history.
type moreStatements struct {
	own, historyBegin, historyWindow, historyStart, historyPage, historyAudit string
}

func renderMore(cfg Config) (moreStatements, error) {
	var s moreStatements
	for _, f := range []struct {
		to   *string
		file string
	}{
		{&s.own, "own"},
		//{&s.historyBegin, "history_begin"},
		//{&s.historyWindow, "history_window"},
		//{&s.historyStart, "history_start"},
		//{&s.historyPage, "history_page"},
		//{&s.historyAudit, "history_audit"},
	} {
		raw, err := sqlFiles.ReadFile("sql/" + f.file + ".sql")
		if err != nil {
			return moreStatements{}, fmt.Errorf("leat: statement %s: %w", f.file, err)
		}
		if *f.to, err = cfg.names().Render(string(raw)); err != nil {
			return moreStatements{}, err
		}
	}
	return s, nil
}
