package mutants

// basisMutants break the comparison of what a position rests on, for all stores at once.
func basisMutants() []Mutant {
	const file, pkg, test = "internal/basis/basis.go", "internal/basis", "TestO2_Comparisons"
	return []Mutant{
		{
			Name: "another-log-is-the-same", Breaks: []string{"O2"},
			Change: "a fact that is another one now is taken for the same",
			File:   file, Old: `if then == now {`, New: `if then == now || f.Class == Identity {`, Package: pkg, Test: test,
		},
		{
			Name: "back-is-as-good-as-ahead", Breaks: []string{"O2"},
			Change: "a fact that went back is taken for one that has gone on",
			File:   file, Old: `if now >= then {`, New: `if now != then {`, Package: pkg, Test: test,
		},
		{
			Name: "a-change-is-tried-again", Breaks: []string{"O2"},
			Change: "a log that is not that of the position is taken for a database that is away",
			File:   file, Old: `return moved`, New: `return !moved`, Package: pkg, Test: test,
		},
		{
			Name: "sql-a-log-of-another-life", Breaks: []string{"O2"},
			Change:  "a log that has another name than the positions know is read by them",
			File:    "outbox/internal/sqllog/life.go",
			Old:     `s.life, s.mark)`,
			New:     `s.life, s.life)`,
			Package: sqlTests, Test: "TestO2_ReplacedLogIsRefused", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-a-log-behind-its-position", Breaks: []string{"O2"},
			Change:  "a log whose highest number is below the position is read",
			File:    "outbox/internal/sqllog/life.go",
			Old:     `"number", at.Last, max(s.last, s.floor))`,
			New:     `"number", 0, at.Last)`,
			Package: sqlTests, Test: "TestConformance_SQLite/O2_MovedNumbersUnderATerm",
		},
	}
}
