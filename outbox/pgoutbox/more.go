package pgoutbox

// moreStatements are the rendered SQL of own connections and of history.
type moreStatements struct {
	own, historyBegin, historyWindow, historyFromTime, historyFromWindow string
	historyPage, historyBefore, ranges, pageLarge                        string
}

func renderMore(cfg Config) (moreStatements, error) {
	var s moreStatements
	err := renderFiles(cfg, []sqlFile{
		{&s.own, "own"},
		{&s.historyBegin, "history_begin"},
		{&s.historyWindow, "history_window"},
		{&s.historyFromTime, "history_from_time"},
		{&s.historyFromWindow, "history_from_window"},
		{&s.historyPage, "history_page"},
		{&s.historyBefore, "history_before"},
		{&s.ranges, "ranges"},
		{&s.pageLarge, "page_large"},
	})
	return s, err
}
