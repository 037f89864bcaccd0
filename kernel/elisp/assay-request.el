;;; assay-request.el --- Decode requests of the server  -*- lexical-binding: t -*-

;;; Commentary:

;; A request is a hash table of its fields.  Functions that read a field signal
;; `assay-request-malformed' with a text that says what is wrong.

;;; Code:

(require 'assay-print)

(define-error 'assay-request-malformed "Malformed request")

(defconst assay-request--unsupported-escapes
  (concat "\\\\\\\\" ; an escaped backslash, so no escape begins at its second
          "\\|\\\\u[dD][89abAB][[:xdigit:]]\\{2\\}\\\\u[dD][c-fC-F][[:xdigit:]]\\{2\\}"
          "\\|\\(\\\\u\\(?:0000\\|[dD][89a-fA-F][[:xdigit:]]\\{2\\}\\)\\)")
  "Group 1 matches escapes that Emacs refuses: NUL and lone surrogates.")

(defun assay-request-read (body)
  "Decode BODY, bytes, as a request."
  (condition-case condition
      (assay-request-parse body)
    (assay-request-malformed (signal (car condition) (cdr condition)))
    (error (assay-request-fail "message is not JSON: %s"
                                 (assay-truncate-middle (assay-describe condition) 300)))))

(defun assay-request-parse (body)
  "Decode BODY, bytes, as a request; signal any error if it is none.
Print nothing."
  (let* ((text (decode-coding-string body 'utf-8-unix))
         (value (condition-case nil
                    (json-parse-string text)
                  (error (json-parse-string (assay-request--replace-unsupported text))))))
    (if (and (hash-table-p value) (stringp (gethash "type" value)))
        value
      (assay-request-fail "message is not a JSON object with a type"))))

(defun assay-request--replace-unsupported (text)
  "Return TEXT with U+FFFD in place of escapes that Emacs refuses."
  (replace-regexp-in-string
   assay-request--unsupported-escapes
   (lambda (escape) (if (match-beginning 1) "\\ufffd" escape))
   text t t))

(defun assay-request-fail (format &rest arguments)
  "Signal that a request is malformed; FORMAT and ARGUMENTS say why."
  (signal 'assay-request-malformed (list (apply #'format format arguments))))

(defun assay-request-type (request)
  "Return the type of REQUEST."
  (gethash "type" request))

(defun assay-request-text (request field &optional optional)
  "Return the string FIELD of REQUEST, or nil if it is missing and OPTIONAL.
Only the field code may be empty."
  (let ((value (gethash field request :null))
        (type (assay-request-type request)))
    (cond ((and optional (eq value :null)) nil)
          ((not (stringp value)) (assay-request-fail "%s: %s is not a string" type field))
          ((and (equal value "") (not (equal field "code")))
           (assay-request-fail "%s: %s is empty" type field))
          (t value))))

(defun assay-request-object (request field)
  "Return the object FIELD of REQUEST, a hash table."
  (let ((value (gethash field request)))
    (if (hash-table-p value)
        value
      (assay-request-fail "%s: %s is not an object" (assay-request-type request) field))))

(defun assay-request-tx (request)
  "Return the `agent_tx_id' of REQUEST, or nil."
  (assay-request-text request "agent_tx_id" 'optional))

(provide 'assay-request)
;;; assay-request.el ends here
