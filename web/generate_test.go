package web_test

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/notebook"
	"assay/server/api"
)

// generator writes Go structs as TypeScript: for each an interface, with the doc
// comments of the Go fields, and a schema that checks values at run time. It reads
// the json tags by reflection, so it sees what encoding/json sees.
type generator struct {
	t       *testing.T
	docs    map[string]map[string]string // of each package's declarations, by "Type" and "Type.Field"
	partial map[reflect.Type]bool        // structs that a partial source refers to
	names   map[reflect.Type]string      // interfaces generated so far
	files   map[string]string            // the file of each interface, by its name

	current string            // the file that is being written
	imports map[string]string // interfaces that it needs of other files: name to file
	schemas map[string]bool   // functions of schema.ts that it needs
	raw     map[string]bool   // the rawFields that were found
	out     strings.Builder
}

func newGenerator(t *testing.T) *generator {
	t.Helper()
	return &generator{
		t: t, docs: map[string]map[string]string{}, partial: map[reflect.Type]bool{},
		names: map[reflect.Type]string{}, files: map[string]string{}, raw: map[string]bool{},
	}
}

// specialTypes returns the types that encoding/json does not write by their
// structure, as TypeScript type and schema.
func specialTypes() map[reflect.Type][2]string {
	return map[reflect.Type][2]string{
		reflect.TypeFor[time.Time]():        {"string", "string"},
		reflect.TypeFor[json.RawMessage]():  {"unknown", "unknown"},
		reflect.TypeFor[any]():              {"unknown", "unknown"},
		reflect.TypeFor[notebook.Widgets](): {"Readonly<Record<string, unknown>>", "record(unknown)"},
	}
}

// file returns the text of a generated file. Interfaces of files generated before
// are imported, not repeated.
func (g *generator) file(file string, sources []source) string {
	g.current, g.imports, g.schemas = file, map[string]string{}, map[string]bool{}
	g.out.Reset()
	for _, src := range sources {
		name := cmp.Or(src.name, reflect.TypeOf(src.structs[0]).Name())
		g.declare(name, src.structs, src.strict)
		for _, value := range src.structs {
			g.names[reflect.TypeOf(value)] = name
		}
	}
	var head strings.Builder
	head.WriteString("// Code generated from Go structs by `go test ./web -update`. DO NOT EDIT.\n\n")
	fmt.Fprintf(&head, "import { %s } from \"../json/schema\";\n", strings.Join(sortedKeys(g.schemas), ", "))
	for _, imported := range sortedKeys(g.imports) {
		from := strings.TrimSuffix(g.imports[imported], ".ts")
		fmt.Fprintf(&head, "import { type %s, %s } from \"./%s\";\n", imported, schemaName(imported), from)
	}
	return head.String() + g.out.String()
}

// markPartialSources marks the structs of partial sources and all structs that they
// refer to. Call it for the sources of all files before the first one is generated: a
// struct of an early file may be part of a partial one of a later file.
func (g *generator) markPartialSources(sources []source) {
	for _, src := range sources {
		for _, value := range src.structs {
			if src.partial {
				g.markPartial(reflect.TypeOf(value))
			}
		}
	}
}

func (g *generator) markPartial(typ reflect.Type) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
		typ = typ.Elem()
	}
	if _, isSpecial := specialTypes()[typ]; isSpecial || typ.Kind() != reflect.Struct || g.partial[typ] {
		return
	}
	g.partial[typ] = true
	for _, field := range jsonFields(typ) {
		g.markPartial(field.Type)
	}
}

// declare writes the interface and the schema of the fields of some structs.
func (g *generator) declare(name string, structs []any, strict bool) {
	require.NotContains(g.t, g.files, name, "two types have this name")
	g.files[name] = g.current
	first := reflect.TypeOf(structs[0])
	var members, checks strings.Builder
	seen := map[string]bool{}
	for _, value := range structs {
		typ := reflect.TypeOf(value)
		for _, field := range jsonFields(typ) {
			if seen[field.json] {
				continue
			}
			seen[field.json] = true
			optional := field.optional || g.partial[typ]
			tsType, schema := g.typeOfField(field, strict)
			mark := ""
			if optional {
				mark, schema = "?", g.use("optional")+"("+schema+")"
			}
			members.WriteString(comment("  ", g.doc(field.owner, field.Name)))
			fmt.Fprintf(&members, "  %s%s: %s;\n", field.json, mark, tsType)
			fmt.Fprintf(&checks, "  %s: %s,\n", field.json, schema)
		}
	}
	if len(structs) == 1 {
		g.out.WriteString("\n" + comment("", g.doc(first, "")))
	} else {
		var kinds []string
		for _, value := range structs {
			kinds = append(kinds, reflect.TypeOf(value).String())
		}
		g.out.WriteString("\n" + comment("", "Has the fields of "+strings.Join(kinds, ", ")+"."))
	}
	kind := g.use("object")
	if strict {
		kind = g.use("strict")
	}
	fmt.Fprintf(&g.out, "export interface %s {\n%s}\n\n", name, members.String())
	fmt.Fprintf(&g.out, "export const %s = /* @__PURE__ */ %s<%s>({\n%s});\n", schemaName(name), kind, name, checks.String())
}

// typeOfField returns the TypeScript type and the schema of a field. In a strict
// struct a list is not valid if one of its items is not, and an integer is not valid
// if it has a fraction.
func (g *generator) typeOfField(field jsonField, strict bool) (tsType, schema string) {
	key := field.owner.Name() + "." + field.Name
	name, isKnown := rawFields()[key]
	if isKnown {
		g.raw[key] = true
	}
	switch {
	case isKnown && field.Type.Kind() == reflect.Slice && field.Type.Elem().Kind() == reflect.Slice:
		return "readonly " + g.need(name) + "[]", g.use("list") + "(" + schemaName(name) + ")"
	case isKnown:
		return g.need(name), schemaName(name)
	}
	tsType, schema = g.typeOf(field.Type, field.optional)
	switch {
	case strict && strings.HasPrefix(schema, "list("):
		schema = g.use("listOfAll") + strings.TrimPrefix(schema, "list")
	case strict && isInteger(field.Type):
		schema = g.use("integer")
	}
	return tsType, schema
}

// typeOf returns the TypeScript type and the schema of a Go type. A pointer may be
// null, unless omitempty leaves it out then.
func (g *generator) typeOf(typ reflect.Type, omitEmpty bool) (tsType, schema string) {
	if found, ok := specialTypes()[typ]; ok {
		for _, name := range []string{"record", "unknown", "string"} {
			if strings.Contains(found[1], name) {
				g.use(name)
			}
		}
		return found[0], found[1]
	}
	switch typ.Kind() {
	case reflect.Pointer:
		tsType, schema = g.typeOf(typ.Elem(), false)
		if omitEmpty {
			return tsType, schema
		}
		return tsType + " | null", g.use("nullable") + "(" + schema + ")"
	case reflect.Bool:
		return "boolean", g.use("boolean")
	case reflect.String:
		return "string", g.use("string")
	case reflect.Int, reflect.Int64, reflect.Uint32, reflect.Float64:
		return "number", g.use("number")
	case reflect.Slice, reflect.Array:
		tsType, schema = g.typeOf(typ.Elem(), false)
		return "readonly " + tsType + "[]", g.use("list") + "(" + schema + ")"
	case reflect.Map:
		tsType, schema = g.typeOf(typ.Elem(), false)
		return "Readonly<Record<string, " + tsType + ">>", g.use("record") + "(" + schema + ")"
	case reflect.Struct:
		name := g.reference(typ)
		return name, schemaName(name)
	default:
		require.Fail(g.t, "no TypeScript type for "+typ.String())
		return "", ""
	}
}

func isInteger(typ reflect.Type) bool {
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	return typ.Kind() == reflect.Int || typ.Kind() == reflect.Int64
}

// reference returns the name of a struct's interface, which it writes first if
// there is none yet.
func (g *generator) reference(typ reflect.Type) string {
	name, ok := g.names[typ]
	if !ok {
		name = interfaceName(typ)
		g.names[typ] = name
		g.declare(name, []any{reflect.New(typ).Elem().Interface()}, false)
	}
	return g.need(name)
}

// need returns the name of an interface, and imports it if another file has it.
func (g *generator) need(name string) string {
	file, ok := g.files[name]
	require.True(g.t, ok, "%s is used before it is generated", name)
	if file != g.current {
		g.imports[name] = file
	}
	return name
}

func interfaceName(typ reflect.Type) string {
	pkg := typ.PkgPath()[strings.LastIndex(typ.PkgPath(), "/")+1:]
	if pkg == "runs" {
		return "Run" + strings.TrimPrefix(typ.Name(), "Run")
	}
	return typ.Name()
}

func (g *generator) use(schema string) string {
	g.schemas[schema] = true
	return schema
}

// jsonField is a field of a struct as encoding/json writes it.
type jsonField struct {
	reflect.StructField
	owner    reflect.Type // the struct that declares it
	json     string       // its name
	optional bool         // absent when it is empty
}

// jsonFields returns the fields of a struct in order, those of embedded structs in
// the place of these.
func jsonFields(typ reflect.Type) []jsonField {
	addsFields := typ == reflect.TypeFor[api.RunDetail]() // its MarshalJSON writes its fields and others
	if reflect.PointerTo(typ).Implements(reflect.TypeFor[json.Marshaler]()) && !addsFields {
		panic(typ.String() + " has a MarshalJSON: add it to specialTypes")
	}
	if reflect.PointerTo(typ).Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		panic(typ.String() + " has a MarshalText: add it to specialTypes")
	}
	var fields []jsonField
	for field := range typ.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "" && field.Type.Kind() == reflect.Pointer:
			for _, inner := range jsonFields(field.Type.Elem()) {
				inner.optional = true
				fields = append(fields, inner)
			}
		case field.Anonymous && name == "":
			fields = append(fields, jsonFields(field.Type)...)
		case field.IsExported() && name != "-":
			optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
			fields = append(fields, jsonField{field, typ, cmp.Or(name, field.Name), optional})
		}
	}
	return fields
}

// doc returns the comment of a struct, or of one of its fields.
func (g *generator) doc(typ reflect.Type, field string) string {
	path, ours := strings.CutPrefix(typ.PkgPath(), "assay/")
	if !ours {
		return ""
	}
	if path == "web_test" {
		path = "web"
	}
	docs, ok := g.docs[path]
	if !ok {
		docs = readDocs(g.t, filepath.Join("..", filepath.FromSlash(path)))
		g.docs[path] = docs
	}
	if field == "" {
		return docs[typ.Name()]
	}
	return docs[typ.Name()+"."+field]
}

// readDocs returns the comments of the structs that a folder declares and of their
// fields.
func readDocs(t *testing.T, folder string) map[string]string {
	t.Helper()
	docs := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range group.Specs {
				typ, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				docs[typ.Name.Name] = cmp.Or(typ.Doc.Text(), group.Doc.Text())
				if fields, ok := typ.Type.(*ast.StructType); ok {
					collectFieldDocs(docs, typ.Name.Name, fields)
				}
			}
		}
	}
	return docs
}

func collectFieldDocs(docs map[string]string, typ string, fields *ast.StructType) {
	for _, field := range fields.Fields.List {
		for _, name := range field.Names {
			docs[typ+"."+name.Name] = strings.TrimSpace(field.Doc.Text() + field.Comment.Text())
		}
	}
}

// comment returns a text as a JSDoc comment, "" for no text.
func comment(indent, text string) string {
	text = strings.TrimSpace(strings.ReplaceAll(text, "*/", "* /"))
	switch {
	case text == "":
		return ""
	case !strings.Contains(text, "\n"):
		return indent + "/** " + text + " */\n"
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(indent+" * "+line, " ")
	}
	return indent + "/**\n" + strings.Join(lines, "\n") + "\n" + indent + " */\n"
}

func schemaName(name string) string {
	return strings.ToLower(name[:1]) + name[1:] + "Schema"
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
