;;; assay-text.el --- Send what code prints  -*- lexical-binding: t -*-

;;; Commentary:

;; `standard-output' is a buffer.  Text printed into it is sent from there in few
;; frames, or kept for the answer to an execute_code (captured).
;;
;; A line is sent when it ends, at most ten in 100 ms.  Other text is sent with
;; the next such line, when there are 64 Ki characters, when Emacs waits (by a
;; timer), or at the end of the run.

;;; Code:

(require 'assay-channel)
(require 'assay-guard)

(defconst assay-text--max-chunk (ash 64 10) "Characters after which text is sent at once, and the most in a frame.")
(defconst assay-text--slot-seconds 0.1 "Seconds in which at most `assay-text--max-slot-lines' are sent at once.")
(defconst assay-text--max-slot-lines 10 "Most lines that are sent at once in a slot.")
(defconst assay-text--flush-delay 0.02 "Seconds after which text is sent while Emacs waits.")
(defconst assay-text--max-captured (ash 4 20) "Most characters of a captured text.")

(defvar assay-text--buffer nil "The buffer of `standard-output'.")
(defvar assay-text--cell "" "Id in UTF-8 of the cell that prints, or empty.")
(defvar assay-text--captured nil "Whether text is captured instead of sent.")
(defvar assay-text--dropped 0 "Characters that were dropped from the captured text.")
(defvar assay-text--slot-start 0.0 "Start time of the present slot.")
(defvar assay-text--slot-lines 0 "Lines sent in the present slot.")
(defvar assay-text--sending nil "Whether `assay-text--send' is running.")
(defvar assay-text--waiting nil "Whether a timer is set to send the text.")

(defun assay-text-install ()
  "Redirect what is printed to the server."
  (unless (buffer-live-p assay-text--buffer)
    (setq assay-text--buffer (get-buffer-create " *assay-text*")))
  (with-current-buffer assay-text--buffer
    (setq-local after-change-functions '(assay-text--changed)))
  (setq standard-output assay-text--buffer
        assay-text--waiting nil))

(defun assay-text-begin (cell)
  "Send what is printed as text of CELL or, if nil, capture it."
  (assay-text-install)
  (assay-text--send)
  (setq assay-text--captured (null cell)
        assay-text--cell (assay-text--encode-cell-id cell)))

(defun assay-text--encode-cell-id (cell)
  "Return the id CELL in UTF-8, cut to what fits into a frame."
  (let ((id (encode-coding-string (or cell "") 'utf-8-unix)))
    (substring id 0 (min (length id) #xFFFF))))

(defun assay-text-end ()
  "Send the rest of the cell's text, or return the captured text."
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
  "Send what was printed so far, unless it is captured.
Notice a stop that comes while this waits for the server."
  (unless assay-text--captured
    (assay-guard-without-interrupts (assay-text--send))
    (assay-guard-check-stopped)))

(defun assay-text--changed (&rest _)
  "Send, drop or leave text that was added to the current buffer."
  (cond
   (assay-text--captured
    (when (> (buffer-size) (* 2 assay-text--max-captured))
      (assay-text--drop-middle)))
   ((or (>= (buffer-size) assay-text--max-chunk)
        (and (eq (char-before (point-max)) ?\n) (assay-text--slot-has-room-p)))
    (assay-text-flush))
   ((not assay-text--waiting)
    (setq assay-text--waiting t)
    (run-at-time assay-text--flush-delay nil #'assay-text--flush-waiting))))

(defun assay-text--slot-has-room-p ()
  "Count a line, and return whether it may still be sent in this slot."
  (let ((now (float-time)))
    (when (> (- now assay-text--slot-start) assay-text--slot-seconds)
      (setq assay-text--slot-start now
            assay-text--slot-lines 0))
    (< (setq assay-text--slot-lines (1+ assay-text--slot-lines)) (1+ assay-text--max-slot-lines))))

(defun assay-text--flush-waiting ()
  "Send the text for which a timer was set."
  (setq assay-text--waiting nil)
  (assay-text-flush))

(defun assay-text--send ()
  "Send what is in the buffer.
Timers may run while this waits for the server; what they print is sent too."
  (unless (or assay-text--sending (not (buffer-live-p assay-text--buffer)))
    (let ((assay-text--sending t))
      (with-current-buffer assay-text--buffer
        (save-restriction
          (widen)
          (while (< (point-min) (point-max))
            (let* ((end (min (point-max) (+ (point-min) assay-text--max-chunk)))
                   (text (buffer-substring-no-properties (point-min) end)))
              (assay-text--delete (point-min) end)
              (assay-channel-send-text assay-text--cell text))))))))

(defun assay-text--delete (start end)
  "Delete the text from START to END of the current buffer."
  (let ((inhibit-modification-hooks t)
        (inhibit-read-only t))
    (delete-region start end)))

(defun assay-text--drop-middle ()
  "Delete the middle of the current buffer beyond `assay-text--max-captured'."
  (let* ((half (/ assay-text--max-captured 2))
         (start (+ (point-min) half))
         (end (- (point-max) half)))
    (setq assay-text--dropped (+ assay-text--dropped (- end start)))
    (assay-text--delete start end)))

(defun assay-text--take-captured ()
  "Remove and return the captured text, with a note where its middle is missing."
  (with-current-buffer assay-text--buffer
    (save-restriction
      (widen)
      (when (> (buffer-size) assay-text--max-captured)
        (assay-text--drop-middle))
      (let ((text (buffer-substring-no-properties (point-min) (point-max)))
            (half (/ assay-text--max-captured 2)))
        (assay-text--delete (point-min) (point-max))
        (unless (zerop assay-text--dropped)
          (setq text (format "%s\n... %d characters ...\n%s" (substring text 0 half)
                             assay-text--dropped (substring text half))
                assay-text--dropped 0))
        (assay-valid-unicode text)))))

(provide 'assay-text)
;;; assay-text.el ends here
