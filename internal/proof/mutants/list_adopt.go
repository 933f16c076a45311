package mutants

// adoptMutants break the rules that keep messages when a service's own table is adopted or released.
func adoptMutants() []Mutant {
	const (
		pkg     = "outbox/adopt"
		onMySQL = "internal/proof/sqltest/adopt"
	)
	return []Mutant{
		{
			Name: "adopt-leaves-pending-rows", Breaks: []string{"O2"},
			Change:  "rows that are pending are not passed on",
			File:    pkg + "/postgres.go",
			Old:     `	if p.cfg.Pending != "" {`,
			New:     `	if p.cfg.Pending == "" {`,
			Package: pkg, Test: "TestO1_RowsThatArePending", Needs: Postgres,
		},
		{
			Name: "adopt-takes-rows-again", Breaks: []string{"O10"},
			Change:  "rows that are pending are passed on each time",
			File:    pkg + "/sql/take.sql",
			Old:     `    IF NOT EXISTS (SELECT FROM`,
			New:     `    IF true OR NOT EXISTS (SELECT FROM`,
			Package: pkg, Test: "TestO1_RowsThatArePending", Needs: Postgres,
		},
		{
			Name: "adopt-numbers-at-insert", Breaks: []string{"O5"},
			Change:  "a row is written into the outbox when it is inserted, and not at COMMIT",
			File:    pkg + "/sql/adopt.sql",
			Old:     `DEFERRABLE INITIALLY DEFERRED`,
			New:     `DEFERRABLE INITIALLY IMMEDIATE`,
			Package: pkg, Test: "TestO5_ALateCommitKeepsItsKeyBehind", Needs: Postgres,
		},
		{
			Name: "adopt-passes-on-what-cannot-be-sent", Breaks: []string{"O6"},
			Change:  "a row that cannot be sent is passed on",
			File:    pkg + "/sql/row.sql",
			Old:     `PERFORM @{_refuse}(leat_topic,`,
			New:     `PERFORM (leat_topic,`,
			Package: pkg, Test: "TestO6_WhatCannotBeSent", Needs: Postgres,
		},
		{
			Name: "release-marks-what-leat-has-not", Breaks: []string{"O2"},
			Change:  "rows that were not passed on are marked as sent",
			File:    pkg + "/sql/finish.sql",
			Old:     `LIKE 'leat: rows that were pending %'`,
			New:     `IS DISTINCT FROM 'x'`,
			Package: pkg, Test: "TestO2_Release", Needs: Postgres,
		},
		{
			Name: "release-marks-what-triggers-have-missed", Breaks: []string{"O2"},
			Change:  "rows that triggers have missed are marked as sent",
			File:    pkg + "/sql/finish.sql",
			Old:     `tgname = 'leat_2_enqueue' AND tgenabled <> 'D')`,
			New:     `tgname = 'leat_2_enqueue')`,
			Package: pkg, Test: "TestO2_Release", Needs: Postgres,
		},
		{
			Name: "adopt-mysql-takes-rows-again", Breaks: []string{"O10"},
			Change:  "rows that are pending are passed on each time, on MySQL",
			File:    pkg + "/mysql.go",
			Old:     `		if has == "" && m.cfg.Pending != "" {`,
			New:     `		if m.cfg.Pending != "" {`,
			Package: onMySQL, Test: "TestO1_RowsThatArePending", Needs: MySQL | MariaDB,
		},
		{
			Name: "release-mysql-marks-what-leat-has-not", Breaks: []string{"O2"},
			Change:  "rows that were not passed on are marked as sent, on MySQL",
			File:    pkg + "/mysql.go",
			Old:     `		if has == m.all && m.cfg.Done != "" {`,
			New:     `		if m.cfg.Done != "" {`,
			Package: onMySQL, Test: "TestO1_RowsThatArePending", Needs: MySQL | MariaDB,
		},
		{
			Name: "adopt-mysql-times-of-the-session", Breaks: []string{"O4"},
			Change:  "a time depends on the time zone of the producer",
			File:    pkg + "/mysql.go",
			Old:     `return "CAST(UNIX_TIMESTAMP(" + sql + ") * 1000000 AS SIGNED)", nil`,
			New:     `return "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', " + sql + ")", nil`,
			Package: onMySQL, Test: "TestAdopt_KeysHeadersAndTimes", Needs: MySQL | MariaDB,
		},
	}
}
