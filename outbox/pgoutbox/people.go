package pgoutbox

// peopleStatements are the SQL of what people ask.
type peopleStatements struct {
	stats, groups, groupLive, removeGroup, maxLag string
}

func renderPeopleStatements(cfg Config) (peopleStatements, error) {
	var s peopleStatements
	err := renderFiles(cfg, []sqlFile{
		{&s.stats, "stats"},
		{&s.groups, "groups"},
		{&s.groupLive, "group_live"},
		{&s.removeGroup, "remove_group"},
		{&s.maxLag, "max_lag"},
	})
	return s, err
}
