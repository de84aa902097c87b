// Package schema owns how the migrations of a database are numbered: files
// 0001_name.sql, 0002_name.sql and so on, each applied once and in order.
//
// It never speaks to a database: each store applies what is listed here in its own
// way. It fails when a number is missing or given twice, before anything is applied.
package schema

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Migration is one step of a database's tables to the next version.
type Migration struct {
	Version int    // from 1
	File    string // as it is embedded: "migrations/0001_calls.sql"
	Name    string // without folder and ending: "0001_calls"
	Text    string // its statements
}

// List returns the migrations in the folder of that name, in order.
func List(files fs.FS) ([]Migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	var list []Migration
	for i, file := range names {
		name := strings.TrimSuffix(path.Base(file), ".sql")
		number, _, _ := strings.Cut(name, "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("list migrations: %s is not number %d", file, i+1)
		}
		text, err := fs.ReadFile(files, file)
		if err != nil {
			return nil, fmt.Errorf("read migration: %w", err)
		}
		list = append(list, Migration{version, file, name, string(text)})
	}
	return list, nil
}
