package mutants

const sqlForwardTests = "internal/proof/sqltest/sqlforward"

// sqlForwardMutants break how the tables of Watermill's forwarder on MySQL are moved into the
// outbox.
func sqlForwardMutants() []Mutant {
	const folder = "outbox/sqlforward"
	return []Mutant{
		{
			Name: "sqlforward-gaps-are-forgotten", Breaks: []string{"O2"},
			Change:  "a number that is missing when a higher one is read is given up",
			File:    folder + "/gaps.go",
			Old:     `			left = append(left, gap{p.last + 1, n - 1, now})`,
			New:     `			_ = now`,
			Package: sqlForwardTests, Test: "TestO2_LateCommitIsMoved", Needs: MySQL | MariaDB,
		},
		{
			Name: "sqlforward-gaps-die-of-age", Breaks: []string{"O2"},
			Change: "a number that a transaction is at is given up because it is old",
			File:   folder + "/dead.go",
			Old:    `	case err == nil, sqldialect.Locked(err):`,
			New: `	case sqldialect.Locked(err):
		return true, nil
	case err == nil:`,
			Package: sqlForwardTests, Test: "TestO2_LateCommitIsMoved", Needs: MySQL | MariaDB,
		},
		{
			Name: "sqlforward-new-before-missing", Breaks: []string{"O5"},
			Change: "what is new is read in front of what was missing",
			File:   folder + "/page.go",
			Old: `	for gaps := at.gaps; len(gaps) > 0 && !p.full; {
		part`,
			New: `	if err := f.readRows(ctx, tx, &p, f.sql["page_new"], at.last); err != nil {
		return p, err
	}
	for gaps := at.gaps; len(gaps) > 0 && !p.full; {
		part`,
			Package: sqlForwardTests, Test: "TestO2_LateCommitIsMoved", Needs: MySQL | MariaDB,
		},
		{
			Name: "sqlforward-the-forwarder-goes-on", Breaks: []string{"O10"},
			Change:  "the forwarder's position stays where it is, so that it sends what is moved",
			File:    folder + "/takeover.go",
			Old:     `	return at, f.storeOffset(ctx, tx, fenced)`,
			New:     `	return at, nil`,
			Package: sqlForwardTests, Test: "TestO10_TakesThePlaceAndGivesItBack", Needs: MySQL | MariaDB,
		},
		{
			Name: "sqlforward-numbers-never-begin-anew", Breaks: []string{"O2"},
			Change:  "a table whose numbers have begun anew is read behind the position of before",
			File:    folder + "/anew.go",
			Old:     `	return nextNumber(statement) <= last, nil`,
			New:     `	return nextNumber(statement) < 0, nil`,
			Package: sqlForwardTests, Test: "TestO2_TruncatedTableIsMovedFromItsStart", Needs: MySQL | MariaDB,
		},
		{
			Name: "sqlforward-any-row-is-the-last", Breaks: []string{"O2"},
			Change:  "numbers that began anew and have passed the position are not noticed",
			File:    folder + "/anew.go",
			Old:     `then != nil && !bytes.Equal(now, then)`,
			New:     `then != nil && bytes.Equal(now, nil)`,
			Package: sqlForwardTests, Test: "TestO2_TruncatedTableIsMovedFromItsStart", Needs: MySQL | MariaDB,
		},
		{
			Name: "sqlforward-missing-means-anew", Breaks: []string{"O10"},
			Change:  "a table whose last row was deleted is moved again from its start",
			File:    folder + "/anew.go",
			Old:     `	return nextNumber(statement) <= last, nil`,
			New:     `	return nextNumber(statement) > 0, nil`,
			Package: sqlForwardTests, Test: "TestO10_CleanedTableIsNotMovedAgain", Needs: MySQL | MariaDB,
		},
		{
			Name: "sqlforward-malformed-rows-vanish", Breaks: []string{"O6"},
			Change:  "a row that is not an envelope is passed over",
			File:    folder + "/page.go",
			Old:     `		if err := f.setAside(ctx, tx, r, err); err != nil {`,
			New:     `		if err := error(nil); err != nil {`,
			Package: sqlForwardTests, Test: "TestO6_MalformedRowIsSetAside", Needs: MySQL | MariaDB,
		},
		{
			Name: "sqlforward-hands-back-at-once", Breaks: []string{"O5"},
			Change:  "the forwarder goes on before the relay has sent what was moved",
			File:    folder + "/handback.go",
			Old:     `		if backlog > 0 || g.Held > 0 {`,
			New:     `		if backlog < 0 {`,
			Package: sqlForwardTests, Test: "TestO5_HandBackWaitsForTheRelay", Needs: MySQL | MariaDB,
		},
	}
}
