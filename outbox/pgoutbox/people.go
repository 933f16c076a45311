package pgoutbox

import "fmt"

// peopleStatements are the SQL of what people ask.
type peopleStatements struct {
	stats, groups, groupLive, removeGroup, maxLag string
}

func renderPeopleStatements(cfg Config) (peopleStatements, error) {
	var s peopleStatements
	for file, to := range map[string]*string{
		"stats":        &s.stats,
		"groups":       &s.groups,
		"group_live":   &s.groupLive,
		"remove_group": &s.removeGroup,
		"max_lag":      &s.maxLag,
	} {
		raw, err := sqlFiles.ReadFile("sql/" + file + ".sql")
		if err != nil {
			return peopleStatements{}, fmt.Errorf("leat: statement %s: %w", file, err)
		}
		if *to, err = cfg.names().Render(string(raw)); err != nil {
			return peopleStatements{}, err
		}
	}
	return s, nil
}
