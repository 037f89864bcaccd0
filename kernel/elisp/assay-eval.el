;;; assay-eval.el --- Evaluate a string of Lisp  -*- lexical-binding: t -*-

;;; Commentary:

;; `agent-eval' evaluates a string and returns its result or error.  Cells and
;; execute_code use it, and their code may call it.

;;; Code:

(require 'assay-guard)
(require 'assay-print)

(defconst assay-eval--max-result (ash 1 20) "Longest printed result in characters.")

(defvar assay-eval-before-function #'ignore
  "Called with the list of forms that are about to be evaluated.")

(defun agent-eval (string)
  "Read all forms of STRING, then evaluate them in order, with lexical binding.
Return a plist, even if they fail, throw or are interrupted:

:success  t, or nil if reading or a form failed or was interrupted
:result   the last value, printed, or nil if there is none
:error    the text of the error, or nil
:skipped  t if there is no form to evaluate; after a failure the number of
          forms behind the one that failed, or nil if there are none
:forms    the number of forms, 0 if reading failed
:name     the name of the error's condition
:place    the location of the error, such as \"in line 2: (car 1)\"

A blank STRING, or nil, is a success without a result."
  (let* ((run (list :forms nil :left nil :at nil))
         (outcome (assay-guard (lambda () (assay-eval--run (or string "") run)))))
    (if (car outcome)
        (list :success t :result (cdr outcome) :error nil
              :skipped (null (plist-get run :forms))
              :forms (length (plist-get run :forms)))
      (assay-eval--failure string run (cdr outcome)))))

(defun assay-eval--run (string run)
  "Evaluate STRING and return its printed value.
Keep the progress in RUN, a plist."
  (unless (stringp string)
    (signal 'wrong-type-argument (list 'stringp string)))
  (let ((forms (assay-eval--read string run))
        (lexical-binding t) ; some macros look at it
        (value nil))
    (plist-put run :forms forms)
    (funcall assay-eval-before-function (mapcar #'cdr forms))
    (plist-put run :left forms)
    (while (plist-get run :left)
      (let ((form (car (plist-get run :left))))
        (plist-put run :at (car form))
        (setq value (assay-eval--evaluate-form (cdr form)))
        (plist-put run :left (cdr (plist-get run :left)))))
    (and forms (assay-print value assay-eval--max-result))))

(defun assay-eval--failure (string run condition)
  "Return the plist of `agent-eval' for a RUN of STRING that failed with CONDITION."
  (list :success nil :result nil
        :error (assay-describe condition)
        :skipped (let ((behind (length (cdr (plist-get run :left)))))
                   (and (> behind 0) behind))
        :forms (length (plist-get run :forms))
        :name (assay-valid-unicode (format "%s" (car condition)))
        :place (and (plist-get run :at) (assay-eval--location string (plist-get run :at)))))

(defun assay-eval--read (string run)
  "Return the forms of STRING as a list of (POSITION . FORM).
Keep the position of the present form in RUN, in case it cannot be read."
  (with-temp-buffer
    (set-syntax-table emacs-lisp-mode-syntax-table)
    (insert string)
    (goto-char (point-min))
    (let ((forms nil))
      (while (assay-eval--more-p)
        (plist-put run :at (point))
        (push (cons (point) (read (current-buffer))) forms))
      (nreverse forms))))

(defun assay-eval--more-p ()
  "Skip white space and comments, and return whether something follows."
  (while (progn (skip-chars-forward "\0- \u00A0")
                (eq (following-char) ?\;))
    (forward-line 1))
  (not (eobp)))

(defun assay-eval--evaluate-form (form)
  "Evaluate FORM.
Expand its macros first, once and not in each pass of a loop.  Those that fail
to expand, because FORM itself defines what they need, are expanded later."
  (let ((form (macroexpand form)))
    (if (eq (car-safe form) 'progn)
        (let ((value nil))
          (dolist (part (cdr form) value)
            (setq value (assay-eval--evaluate-form part))))
      (eval (condition-case nil
                (macroexpand-all form)
              (error form))
            t))))

(defun assay-eval--location (string position)
  "Return the number and text of the line of STRING at POSITION, from 1."
  (let* ((start (1- position))
         (end (or (string-match-p "\n" string start) (length string)))
         (line 1)
         (at -1))
    (while (and (setq at (string-match-p "\n" string (1+ at)))
                (< at start))
      (setq line (1+ line)))
    (format "in line %d: %s" line (assay-truncate-middle (assay-valid-unicode (substring string start end)) 200))))

(provide 'assay-eval)
;;; assay-eval.el ends here
