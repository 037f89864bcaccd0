;;; assay-text.el --- What code prints, on its way to the server  -*- lexical-binding: t -*-

;;; Commentary:

;; `standard-output' is a buffer.  What is printed into it is sent from there,
;; gathered into few frames, or kept for the answer to an execute_code.
;;
;; A line is sent when it ends, up to ten in 100 ms; after that text waits for
;; the next line, for 64 Ki characters, for Emacs to wait itself (a timer), or
;; for the end of the run.

;;; Code:

(require 'assay-channel)
(require 'assay-guard)

(defconst assay-text--chunk (ash 64 10) "Characters after which text does not wait, and the most in a frame.")
(defconst assay-text--slot 0.1 "Seconds in which `assay-text--lines' are sent at once.")
(defconst assay-text--lines 10 "Lines that are sent at once in a slot.")
(defconst assay-text--pause 0.02 "Seconds after which waiting text is sent, while Emacs waits.")
(defconst assay-text--most (ash 4 20) "Characters that are kept of a captured text.")

(defvar assay-text--buffer nil "Where text is printed.")
(defvar assay-text--cell "" "Id in UTF-8 of the cell whose text it is; empty: of none.")
(defvar assay-text--captured nil "Whether text is kept, not sent.")
(defvar assay-text--dropped 0 "Characters that were dropped from the captured text.")
(defvar assay-text--slot-start 0.0 "When the slot began.")
(defvar assay-text--slot-lines 0 "Lines sent in the slot.")
(defvar assay-text--sending nil "Whether text is on its way already.")
(defvar assay-text--waiting nil "Whether a timer will send the text.")

(defun assay-text-install ()
  "Make what is printed from now on text of no cell, until `assay-text-begin'."
  (unless (buffer-live-p assay-text--buffer)
    (setq assay-text--buffer (get-buffer-create " *assay-text*")))
  (with-current-buffer assay-text--buffer
    (setq-local after-change-functions '(assay-text--changed)))
  (setq standard-output assay-text--buffer
        assay-text--waiting nil))

(defun assay-text-begin (cell)
  "Make what is printed text of CELL; nil: keep it for `assay-text-end'."
  (assay-text-install)
  (assay-text--send)
  (setq assay-text--captured (null cell)
        assay-text--cell (assay-text--id cell)))

(defun assay-text--id (cell)
  "Return the id CELL as a frame can say it: UTF-8, cut where it is too long."
  (let ((id (encode-coding-string (or cell "") 'utf-8-unix)))
    (substring id 0 (min (length id) #xFFFF))))

(defun assay-text-end ()
  "Send what is left of the text of the cell, or return what was kept."
  (assay-text-install)
  (prog1 (if assay-text--captured
             (assay-text--take-captured)
           (assay-text--send)
           nil)
    (setq assay-text--captured nil
          assay-text--cell "")))

(defun assay-text-add (text)
  "Print TEXT, a string."
  (when (buffer-live-p assay-text--buffer)
    (princ text assay-text--buffer)))

(defun assay-text-flush ()
  "Send what was printed so far, unless it is to be kept.
A stop that comes while the server is slow to take it is noticed."
  (unless assay-text--captured
    (assay-shielded (assay-text--send))
    (assay-guard-look)))

(defun assay-text--changed (&rest _)
  "See to the text that was added to the current buffer."
  (cond
   (assay-text--captured
    (when (> (buffer-size) (* 2 assay-text--most))
      (assay-text--drop-middle)))
   ((or (>= (buffer-size) assay-text--chunk)
        (and (eq (char-before (point-max)) ?\n) (assay-text--soon-p)))
    (assay-text-flush))
   ((not assay-text--waiting)
    (setq assay-text--waiting t)
    (run-at-time assay-text--pause nil #'assay-text--due))))

(defun assay-text--soon-p ()
  "Whether the slot has room for another line, which it then counts."
  (let ((now (float-time)))
    (when (> (- now assay-text--slot-start) assay-text--slot)
      (setq assay-text--slot-start now
            assay-text--slot-lines 0))
    (< (setq assay-text--slot-lines (1+ assay-text--slot-lines)) (1+ assay-text--lines))))

(defun assay-text--due ()
  "Send the text that has waited."
  (setq assay-text--waiting nil)
  (assay-text-flush))

(defun assay-text--send ()
  "Send what is in the buffer.
Timers may run while it waits for the server: what they print is sent in turn."
  (unless (or assay-text--sending (not (buffer-live-p assay-text--buffer)))
    (let ((assay-text--sending t))
      (with-current-buffer assay-text--buffer
        (save-restriction
          (widen)
          (while (< (point-min) (point-max))
            (let* ((end (min (point-max) (+ (point-min) assay-text--chunk)))
                   (text (buffer-substring-no-properties (point-min) end)))
              (assay-text--delete (point-min) end)
              (assay-channel-send-text assay-text--cell text))))))))

(defun assay-text--delete (start end)
  "Delete the text from START to END of the current buffer."
  (let ((inhibit-modification-hooks t)
        (inhibit-read-only t))
    (delete-region start end)))

(defun assay-text--drop-middle ()
  "Keep the first and the last half of what may be kept of the current buffer."
  (let* ((half (/ assay-text--most 2))
         (start (+ (point-min) half))
         (end (- (point-max) half)))
    (setq assay-text--dropped (+ assay-text--dropped (- end start)))
    (assay-text--delete start end)))

(defun assay-text--take-captured ()
  "Return the text that was kept, with a line where its middle is missing."
  (with-current-buffer assay-text--buffer
    (save-restriction
      (widen)
      (when (> (buffer-size) assay-text--most)
        (assay-text--drop-middle))
      (let ((text (buffer-substring-no-properties (point-min) (point-max)))
            (half (/ assay-text--most 2)))
        (assay-text--delete (point-min) (point-max))
        (unless (zerop assay-text--dropped)
          (setq text (format "%s\n... %d characters ...\n%s" (substring text 0 half)
                             assay-text--dropped (substring text half))
                assay-text--dropped 0))
        (assay-sound text)))))

(provide 'assay-text)
;;; assay-text.el ends here
