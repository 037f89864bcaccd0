;;; assay-names.el --- The user's variables and functions  -*- lexical-binding: t -*-

;;; Commentary:

;; A variable or function belongs to the user if it was bound after the start,
;; and not by a file that was loaded.  One symbol may be both: "list" is Emacs's
;; function and may be the user's variable.  So the kinds of a symbol are a sum of
;; `assay-names--variable' and `assay-names--function'.

;;; Code:

(require 'assay-print)

(defconst assay-names--variable 1)
(defconst assay-names--function 2)

(defconst assay-names--max-conses 20000 "How many conses of a cell's forms are searched for names.")

(defvar assay-names--initial nil "Hash table from symbols to the kinds that were bound at the start.")
(defvar assay-names--history nil "`load-history' at the start.")
(defvar assay-names--originals nil "Hash table from changed symbols of Emacs to their original bindings.")

(defun assay-names-record-initial ()
  "Record the present bindings as those of Emacs."
  (setq assay-names--initial (make-hash-table :test #'eq :size 16384)
        assay-names--originals (make-hash-table :test #'eq)
        assay-names--history load-history)
  (mapatoms (lambda (symbol)
              (let ((bound (assay-names--bound-kinds symbol)))
                (unless (zerop bound)
                  (puthash symbol bound assay-names--initial)))))
  (fset 'assay-names-function-restorer (assay-names--make-restorer)))

(defun assay-names-function-restorer ()
  "Return a function that restores functions as they were recorded.
It restores those of the kernel or, if it is called with t, all.

To run code of the user, call this before and keep the result in a lexical
variable: the code can replace this function, but it has no name by which it
could replace the result."
  #'ignore)

(defsubst assay-names--restore-bindings (own others variables)
  "Set the functions in OWN and OTHERS, and VARIABLES, to the values there.
Each is an alist.  Compiled, this calls no function that code could replace:
each call is an instruction."
  (dolist (functions (list own others))
    (dolist (recorded functions)
      (unless (eq (symbol-function (car recorded)) (cdr recorded))
        (fset (car recorded) (cdr recorded)))))
  (dolist (recorded variables)
    (unless (eq (symbol-value (car recorded)) (cdr recorded))
      (set (car recorded) (cdr recorded)))))

(defun assay-names--make-restorer ()
  "Return an `assay-names-function-restorer' for the present bindings."
  (let ((own nil)
        (others nil)
        (variables nil))
    (mapatoms (lambda (symbol)
                (let ((ours (string-match-p "\\`\\(?:assay\\|agent\\)-" (symbol-name symbol))))
                  (when (and ours (boundp symbol) (assay-names--constant-p symbol))
                    (push (cons symbol (symbol-value symbol)) variables))
                  (when (and (fboundp symbol) (not (autoloadp (symbol-function symbol)))
                             (not (eq symbol 'assay-names-function-restorer)))
                    (let ((recorded (cons symbol (symbol-function symbol))))
                      (if ours (push recorded own) (push recorded others)))))))
    (let* ((self (cons 'assay-names-function-restorer nil))
           (restorer (lambda (&optional all)
                     (assay-names--restore-bindings (cons self own) (and all others) variables))))
      (setcdr self (lambda () restorer)))))

(defun assay-names--constant-p (symbol)
  "Return whether SYMBOL, a variable of the kernel, is a constant or a function."
  (or (get symbol 'risky-local-variable)
      (string-suffix-p "-function" (symbol-name symbol))))

(defun assay-names--bound-kinds (symbol)
  "Return the kinds in which SYMBOL is bound."
  (logior (if (boundp symbol) assay-names--variable 0)
          (if (fboundp symbol) assay-names--function 0)))

(defun assay-names--loaded ()
  "Return a hash table from symbols to the kinds that loaded files define."
  (let ((loaded (make-hash-table :test #'eq))
        (files load-history))
    (while (and files (not (eq files assay-names--history)))
      (dolist (definition (cdr (pop files)))
        (pcase definition
          ((pred symbolp) (assay-names--add-kind definition assay-names--variable loaded))
          (`(,(or 'provide 'require) . ,_))
          (`(,_ . ,(and symbol (pred symbolp)))
           (assay-names--add-kind symbol assay-names--function loaded)))))
    loaded))

(defun assay-names--add-kind (symbol kind table)
  "Add KIND to the kinds of SYMBOL in TABLE."
  (puthash symbol (logior kind (gethash symbol table 0)) table))

(defun assay-names--user-kinds (symbol loaded)
  "Return the kinds of SYMBOL that are the user's, neither initial nor LOADED."
  (if (keywordp symbol)
      0
    (logand (assay-names--bound-kinds symbol)
            (lognot (logior (gethash symbol assay-names--initial 0)
                            (gethash symbol loaded 0))))))

(defun assay-names ()
  "Return the user's names, sorted, as a list of (SYMBOL . KINDS).
Leave out private names, with \"--\" in them, and internals of structures."
  (let ((names nil))
    (dolist (name (assay-names--all))
      (unless (string-match-p "--\\|\\`cl-struct-" (symbol-name (car name)))
        (push name names)))
    (sort names (lambda (a b) (string< (car a) (car b))))))

(defun assay-names--all ()
  "Return all of the user's names as a list of (SYMBOL . KINDS)."
  (let ((loaded (assay-names--loaded))
        (names nil))
    (mapatoms (lambda (symbol)
                (let ((own (assay-names--user-kinds symbol loaded)))
                  (unless (zerop own)
                    (push (cons symbol own) names)))))
    names))

(defun assay-names-find (name)
  "Return the user's (SYMBOL . KINDS) called NAME, or nil."
  (assq (intern-soft name) (assay-names--all)))

(defun assay-names-variable-p (kinds)
  "Return whether KINDS include a variable."
  (not (zerop (logand kinds assay-names--variable))))

(defun assay-names-bindings (forms)
  "Return the bindings of symbols in FORMS: a list of (SYMBOL VARIABLE FUNCTION).
VARIABLE is (VALUE), or nil if it is void."
  (let ((seen (make-hash-table :test #'eq))
        (bindings nil)
        (items (list forms))
        (left assay-names--max-conses))
    (while (and items (> (setq left (1- left)) 0))
      (let ((item (pop items)))
        (cond
         ((consp item)
          (push (cdr item) items)
          (push (car item) items))
         ((or (null item) (not (symbolp item)) (keywordp item) (gethash item seen)))
         (t (puthash item t seen)
            (push (assay-names--binding item) bindings)))))
    bindings))

(defun assay-names--binding (symbol)
  "Return the binding of SYMBOL: (SYMBOL VARIABLE FUNCTION)."
  (list symbol (and (boundp symbol) (list (symbol-value symbol))) (symbol-function symbol)))

(defun assay-names-changed (before)
  "Return, sorted, the user's names whose binding differs from that in BEFORE.
Record changed names of Emacs, for `assay-names-clear'."
  (let ((loaded (assay-names--loaded))
        (names nil))
    (dolist (old before)
      (let* ((symbol (car old))
             (changed (assay-names--difference old (assay-names--binding symbol)))
             (own (assay-names--user-kinds symbol loaded)))
        (cond
         ((zerop changed))
         ((not (zerop (logand changed own))) (push symbol names))
         ((not (gethash symbol assay-names--originals))
          (puthash symbol old assay-names--originals)))))
    (mapcar (lambda (symbol) (assay-valid-unicode (symbol-name symbol))) (sort names #'string<))))

(defun assay-names--difference (old new)
  "Return the kinds in which the bindings OLD and NEW differ."
  (let ((before (nth 1 old))
        (after (nth 1 new)))
    (logior (if (and (eq (null before) (null after)) (eq (car before) (car after)))
                0
              assay-names--variable)
            (if (eq (nth 2 old) (nth 2 new)) 0 assay-names--function))))

(defun assay-names-clear ()
  "Unbind the user's names, and restore changed names of Emacs."
  (maphash (lambda (_ original) (ignore-errors (assay-names--rebind original)))
           assay-names--originals)
  (clrhash assay-names--originals)
  (dolist (name (assay-names--all))
    (when (assay-names-variable-p (cdr name))
      (ignore-errors (makunbound (car name))))
    (unless (zerop (logand (cdr name) assay-names--function))
      (fmakunbound (car name)))))

(defun assay-names--rebind (original)
  "Restore ORIGINAL, a binding."
  (pcase-let ((`(,symbol ,variable ,function) original))
    (fset symbol function)
    (if variable
        (set symbol (car variable))
      (makunbound symbol))))

(provide 'assay-names)
;;; assay-names.el ends here
