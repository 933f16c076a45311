package settings

import "strings"

// Scheme returns which product a URL is of, such as postgres, mysql, mariadb or sqlite.
// Keywords and values, and nothing, are PostgreSQL's.
func Scheme(url string) string {
	if strings.HasPrefix(url, "sqlite:") {
		return "sqlite"
	}
	scheme, _, ok := strings.Cut(url, "://")
	if !ok || scheme == "postgresql" || strings.ContainsAny(scheme, " =") {
		return "postgres"
	}
	return scheme
}

// IsSQL reports whether a URL is of a database that the stores on database/sql are for.
func IsSQL(url string) bool {
	switch Scheme(url) {
	case "mysql", "mariadb", "sqlite":
		return true
	default:
		return false
	}
}
