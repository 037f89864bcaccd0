package api

import (
	"math"
	"net/http"

	"assay/server/endpoint"
)

const (
	// How many cases a page has by default and at most.
	defaultCasesPerPage = 500
	maxCasesPerPage     = 5000

	// maxTaskRunes is how much of each case's task a page shows, in runes.
	maxTaskRunes = 300
)

// Case is a case that can be attached to a session.
type Case struct {
	Path string   `json:"path"` // of the file that has the case
	ID   string   `json:"id"`
	Task string   `json:"task"`
	Tags []string `json:"tags"` // never null in a response
}

// CasePage is the response of GET /api/cases. Tasks are cut to 300 runes.
type CasePage struct {
	Cases     []Case `json:"cases"` // never null
	NextAfter *int64 `json:"next"`  // the "after" of the next page; null: this is the last page
}

// ListCases handles GET /api/cases with the cases that list returns, in that order.
// The parameter "after" is the number of cases to skip.
func ListCases(list func() ([]Case, error)) endpoint.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		q := endpoint.ReadParameters(r, "limit", "after")
		after, limit := q.Number("after", 0, 0, math.MaxInt32), q.Number("limit", defaultCasesPerPage, 1, maxCasesPerPage)
		if err := q.Err(); err != nil {
			return err
		}
		all, err := list()
		if err != nil {
			return err
		}
		page := CasePage{Cases: []Case{}}
		count := int64(len(all))
		end := min(after+limit, count)
		for _, c := range all[min(after, count):end] {
			if task := []rune(c.Task); len(task) > maxTaskRunes {
				c.Task = string(task[:maxTaskRunes])
			}
			c.Tags = append([]string{}, c.Tags...)
			page.Cases = append(page.Cases, c)
		}
		if end < count {
			page.NextAfter = &end
		}
		endpoint.WriteJSON(w, http.StatusOK, page)
		return nil
	}
}
