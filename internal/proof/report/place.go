package report

import (
	"fmt"
	"slices"
	"strings"
)

// daemonPlace is the place of a run in which the daemon has relayed.
const daemonPlace = "daemon"

// databases are the databases of runs, by their names in the services.
func databases() []string { return []string{"PostgreSQL", "MySQL", "MariaDB", "SQLite", "DynamoDB"} }

// places are the places of the runs next to the main one, in the page's order.
func places() []string {
	all := []string{daemonPlace}
	for _, database := range databases()[1:] {
		all = append(all, placeOf(database))
	}
	return all
}

func placeOf(database string) string { return strings.ToLower(database) }

// place is the name of a run's place on the page: "" for the main run.
func (r Run) place() (string, error) {
	database, err := r.database()
	switch {
	case err != nil:
		return "", err
	case database.Name != databases()[0]:
		return placeOf(database.Name), nil
	case r.Daemon:
		return daemonPlace, nil
	default:
		return "", nil
	}
}

// database is the run's database. A page must not mix them up.
func (r Run) database() (Service, error) {
	for _, s := range r.Services {
		if slices.Contains(databases(), s.Name) {
			return s, nil
		}
	}
	return Service{}, fmt.Errorf("report: services %v: must have one of %v", r.Services, databases())
}

// Database is the name of the run's database.
func (v view) Database() (string, error) {
	s, err := v.database()
	return s.Name, err
}

// Figures is the name of the file with all figures of a run next to the page's.
func (v view) Figures() (string, error) {
	place, err := v.place()
	return place + ".json", err
}

// Kills are the faults in which the database's server was killed, or crashed, and that count.
func (v view) Kills() (n int) {
	for _, f := range v.FaultCounts() {
		switch f.Point {
		case "server/postgres", "server/mysql", "server/mariadb":
			n += f.Counted
		}
	}
	return n
}
