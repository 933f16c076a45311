package report

import (
	"fmt"
	"slices"
	"strings"
)

// daemonPlace is the place of a run in which the daemon relayed.
const daemonPlace = "daemon"

// databases returns the databases of runs, by their names in the services.
func databases() []string { return []string{"PostgreSQL", "MySQL", "MariaDB", "SQLite", "DynamoDB"} }

// places returns the places of the runs that are shown next to the main one, in the order of the page.
func places() []string {
	all := []string{daemonPlace}
	for _, database := range databases()[1:] {
		all = append(all, placeOf(database))
	}
	return all
}

func placeOf(database string) string { return strings.ToLower(database) }

// place returns the name of the place of a run on the page, "" for the main run.
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

// database returns the run's database, so that a page does not mix runs up.
func (r Run) database() (Service, error) {
	for _, s := range r.Services {
		if slices.Contains(databases(), s.Name) {
			return s, nil
		}
	}
	return Service{}, fmt.Errorf("report: services %v: must have one of %v", r.Services, databases())
}

// Database returns the name of the run's database.
func (v view) Database() (string, error) {
	s, err := v.database()
	return s.Name, err
}

// Figures returns the name of the file with all figures of a run that is shown next to the main one.
func (v view) Figures() (string, error) {
	place, err := v.place()
	return place + ".json", err
}

// Kills returns how many counted faults killed or crashed the database's server.
func (v view) Kills() (n int) {
	for _, f := range v.FaultCounts() {
		switch f.Point {
		case "server/postgres", "server/mysql", "server/mariadb":
			n += f.Counted
		}
	}
	return n
}
