package settings

import "strings"

// Scheme returns the product of a URL, such as postgres, mysql, mariadb or sqlite. It returns postgres for
// keywords and values, and for an empty URL.
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

// IsSQL reports whether a URL leads to a database for the stores on database/sql.
func IsSQL(url string) bool {
	switch Scheme(url) {
	case "mysql", "mariadb", "sqlite":
		return true
	default:
		return false
	}
}
