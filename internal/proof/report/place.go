package report

import (
	"fmt"
	"slices"
	"strings"
)

// daemonPlace is that of a run in which the daemon has relayed.
const daemonPlace = "daemon"

// databases are those that a run can stand on, as its services have them.
func databases() []string { return []string{"PostgreSQL", "MySQL", "MariaDB", "SQLite", "DynamoDB"} }

// places are those of the runs that lie beside the one whose page it is, in the page's order.
func places() []string {
	all := []string{daemonPlace}
	for _, database := range databases()[1:] {
		all = append(all, placeOf(database))
	}
	return all
}

func placeOf(database string) string { return strings.ToLower(database) }

// place is the name of the place that a run has on the page: "" for the run whose page it is.
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

// database is the one that the run stood on. A page must not take it for another.
func (r Run) database() (Service, error) {
	for _, s := range r.Services {
		if slices.Contains(databases(), s.Name) {
			return s, nil
		}
	}
	return Service{}, fmt.Errorf("report: services %v: must have one of %v", r.Services, databases())
}

// Database is the name of the one that the run stood on.
func (v view) Database() (string, error) {
	s, err := v.database()
	return s.Name, err
}

// Figures is the name of the file of all figures of a run that lies beside the page's.
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
