package knowledge

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrUnknownBase means that an org has no base of that name.
var ErrUnknownBase = errors.New("no such base")

// ErrUnstaged means that a text of the base has no vector in the space that was
// to be adopted.
var ErrUnstaged = errors.New("a text has no vector of the new model yet")

// QuotaError refuses what an org may not hold. Nothing was written.
type QuotaError struct {
	Org   string
	Limit int // knowledge_chunks of the org
	Holds int // chunks now, in all its bases
	Needs int // chunks that it would hold
}

// Error says what would help.
func (e QuotaError) Error() string {
	return fmt.Sprintf("org %s may hold %d chunks, holds %d and would hold %d: push less, remove a base, or raise the quota with headstart orgs set %s --knowledge-chunks N",
		e.Org, e.Limit, e.Holds, e.Needs, e.Org)
}

// PruneError refuses a push that would remove more than half of a base's files.
// Nothing was written and nothing removed.
type PruneError struct {
	Base        string
	Gone, Files int // how many of how many would go
}

// Error says what would help.
func (e PruneError) Error() string {
	return fmt.Sprintf("the push would remove %d of the %d files of base %s, more than half: if that is meant push again with --prune, else look whether this is the right folder",
		e.Gone, e.Files, e.Base)
}

// maxName is the longest name of a base or an org, and maxPath the longest path
// of a file, in bytes.
const (
	maxName = 64
	maxPath = 1024
)

// NameError refuses a name of a base or an org, or a path of a file.
type NameError struct {
	Name string
	Want string // what it should be
}

// Error says what would do.
func (e NameError) Error() string { return fmt.Sprintf("%q: want %s", e.Name, e.Want) }

// CheckName tells whether a base or an org may have a name: letters, digits, "-",
// "_" and ".", beginning with a letter or a digit. It stands in URLs and in agent
// files. The error is a NameError.
func CheckName(name string) error {
	e := NameError{name, fmt.Sprintf("a name of letters and digits, and inside it - _ and ., of at most %d bytes", maxName)}
	for i, r := range name {
		if !(unicode.IsLetter(r) || unicode.IsDigit(r) || i > 0 && strings.ContainsRune("-_.", r)) {
			return e
		}
	}
	if name == "" || len(name) > maxName || !utf8.ValidString(name) {
		return e
	}
	return nil
}

// CheckPath tells whether a file may have a path: relative, with slashes, without
// "." and "..", and without what no store takes. The error is a NameError.
func CheckPath(path string) error {
	if path == "." || len(path) > maxPath || !fs.ValidPath(path) || strings.ContainsFunc(path, unicode.IsControl) {
		return NameError{path, fmt.Sprintf("a relative path with slashes, without .., of at most %d bytes", maxPath)}
	}
	return nil
}
