package main_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

const module = "headstart"

// kind is what a file is for. A rule that allows one allows those after it.
type kind int

const (
	product kind = iota
	fake         // in a …test package, without testing
	test
)

// report is what a walk saw, in the order of the walk: by name.
type report struct {
	files  []string
	broken []string // "file:line: what is there: the rule"
}

// source is one Go file. Build constraints are not asked: a rule holds on
// every platform.
type source struct {
	path, dir string // from the root, with slashes
	text      []byte
	fset      *token.FileSet
	imports   []*ast.ImportSpec
	kind      kind
}

// check walks a tree and holds its files to the rules. Folders that the go
// command does not walk, and modules of their own, are not ours to judge.
func check(tree fs.FS) (report, error) {
	var r report
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && foreign(tree, name):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		s, err := read(tree, name)
		if err != nil {
			return err
		}
		r.files = append(r.files, name)
		broken, err := s.broken()
		r.broken = append(r.broken, broken...)
		return err
	})
	return r, err
}

func foreign(tree fs.FS, folder string) bool {
	base := path.Base(folder)
	if folder == "." {
		return false
	}
	if base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return true
	}
	_, err := fs.Stat(tree, path.Join(folder, "go.mod"))
	return err == nil
}

func read(tree fs.FS, name string) (source, error) {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return source{}, err
	}
	s := source{path: name, dir: path.Dir(name), text: text, fset: token.NewFileSet()}
	file, err := parser.ParseFile(s.fset, name, text, parser.ImportsOnly)
	if err != nil {
		return source{}, err
	}
	s.imports = file.Imports
	s.kind = s.find()
	return s, nil
}

func (s source) find() kind {
	switch {
	case strings.HasSuffix(s.path, "_test.go"):
		return test
	case !isTests(s.dir):
		return product
	case slices.ContainsFunc(s.imports, func(i *ast.ImportSpec) bool { return imported(i) == "testing" }):
		return test
	}
	return fake
}

// isTests tells whether a package of ours is a …test one, or below one.
func isTests(dir string) bool {
	return slices.ContainsFunc(strings.Split(dir, "/"), func(e string) bool { return strings.HasSuffix(e, "test") })
}

func imported(i *ast.ImportSpec) string {
	p, err := strconv.Unquote(i.Path.Value)
	if err != nil {
		return i.Path.Value
	}
	return p
}

func (s source) broken() ([]string, error) {
	home, ok := layerOf(s.dir)
	if !ok {
		return []string{s.say(token.NoPos, "is in "+s.dir, ruleTop)}, nil
	}
	var all []string
	for _, i := range s.imports {
		for _, rule := range s.forbids(home, imported(i)) {
			all = append(all, s.say(i.Pos(), fmt.Sprintf("imports %q", imported(i)), rule))
		}
	}
	named, err := s.named()
	return append(all, named...), err
}

// layerOf is the layer with the longest folder that holds dir.
func layerOf(dir string) (layer, bool) {
	var found layer
	for _, l := range layers {
		if within(dir, l.of) && len(l.of) > len(found.of) {
			found = l
		}
	}
	return found, found.of != ""
}

// forbids tells which rules an import breaks.
func (s source) forbids(home layer, p string) []string {
	var rules []string
	if dir, ours := strings.CutPrefix(p, module+"/"); ours {
		if !home.allows(s, dir) {
			rules = append(rules, home.rule)
		}
		if isTests(dir) && s.kind < fake && s.dir != "cmd/headstart" {
			rules = append(rules, ruleTests)
		}
		return rules
	}
	for _, l := range libraries {
		if l.means(p) && !l.allows(s) {
			rules = append(rules, l.rule)
		}
	}
	return rules
}

func (l layer) allows(s source, dir string) bool {
	return withinAny(dir, l.trees) || slices.Contains(l.exact, dir) ||
		shares(s.dir, dir, l.own) ||
		s.kind >= fake && withinAny(dir, l.tests)
}

// shares tells whether two packages have their first n folders in common. None
// are no common ground, and a value package, above its engines, has too few.
func shares(a, b string, n int) bool {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	return n > 0 && len(x) >= n && len(y) >= n && slices.Equal(x[:n], y[:n])
}

func (r reserved) means(p string) bool {
	return withinAny(p, r.prefixes) || r.word != "" && strings.Contains(p, r.word)
}

func (r reserved) allows(s source) bool {
	return withinAny(s.dir, r.in) || s.kind >= fake && withinAny(s.dir, r.tests)
}

// named tells which functions a file names that it may not. Only a file that
// imports a package of the table is parsed whole.
func (s source) named() ([]string, error) {
	pkgs, all := s.watched()
	if len(pkgs) == 0 {
		return all, nil
	}
	file, err := parser.ParseFile(s.fset, s.path, s.text, parser.SkipObjectResolution)
	if err != nil {
		return all, err
	}
	for n := range ast.Preorder(file) {
		pkg, sel := selected(n, pkgs)
		for _, f := range functions {
			if pkg == f.pkg && slices.Contains(f.names, sel) && !f.allows(s) {
				all = append(all, s.say(n.Pos(), "names "+pkg+"."+sel, f.rule))
			}
		}
	}
	return all, nil
}

func (f function) allows(s source) bool { return within(s.dir, "cmd") || s.kind >= f.from }

// watched maps the names under which a file knows packages of the table. One
// that it knows by no name is a complaint.
func (s source) watched() (pkgs map[string]string, complaints []string) {
	pkgs = make(map[string]string)
	for _, i := range s.imports {
		p := imported(i)
		if !slices.ContainsFunc(functions, func(f function) bool { return f.pkg == p }) {
			continue
		}
		switch {
		case i.Name == nil:
			pkgs[path.Base(p)] = p
		case i.Name.Name == ".":
			complaints = append(complaints, s.say(i.Pos(), fmt.Sprintf("imports %q", p), ruleDot))
		default:
			pkgs[i.Name.Name] = p
		}
	}
	return pkgs, complaints
}

func selected(n ast.Node, pkgs map[string]string) (pkg, name string) {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	x, ok := sel.X.(*ast.Ident)
	if !ok {
		return "", ""
	}
	return pkgs[x.Name], sel.Sel.Name
}

func (s source) say(at token.Pos, what, rule string) string {
	line := max(s.fset.Position(at).Line, 1)
	return fmt.Sprintf("%s:%d: %s: %s", s.path, line, what, rule)
}

func withinAny(p string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return within(p, f) })
}

// within tells whether p is folder or below it; turnover is not in turn.
func within(p, folder string) bool { return p == folder || strings.HasPrefix(p, folder+"/") }
