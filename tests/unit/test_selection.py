"""Every decision on hand-made numbers."""

from refusion_core import selection


def reasons(confidences, threshold):
    return [choice.reason for choice in selection.choose_slots(confidences, threshold)]


def test_slots_are_chosen_strictly_above_the_threshold():
    assert reasons([0.9, 0.6, 0.61], 0.6) == [
        "above_threshold",
        "below_threshold",
        "above_threshold",
    ]


def test_the_single_best_slot_is_chosen_when_none_is_above():
    choices = selection.choose_slots([0.2, 0.5, 0.4], 0.5)
    assert [choice.chosen for choice in choices] == [False, True, False]
    assert choices[1].reason == "best_of_none"
    assert [choice.rank for choice in choices] == [2, 0, 1]


def test_of_equal_confidences_the_earlier_slot_is_best():
    assert [choice.chosen for choice in selection.choose_slots([0.3, 0.3], 0.9)] == [True, False]


def test_threshold_one_chooses_one_slot():
    assert sum(choice.chosen for choice in selection.choose_slots([1.0, 1.0], 1.0)) == 1


def test_the_first_token_of_a_slot_needs_no_check_and_the_test_is_strict():
    assert selection.accepted_run([0.0, 0.5, 0.4, 0.9], 0.4) == 2
    assert selection.accepted_run([0.0], 0.9) == 1


def test_prefix_goes_over_whole_slots_into_the_first_broken_one():
    assert selection.accepted_prefix([4, 4, 2, 4], 4) == 10
    assert selection.accepted_prefix([1, 4], 4) == 1
    assert selection.accepted_prefix([4, 4], 4) == 8


def test_eos_counts_only_inside_the_accepted_run():
    assert selection.end_at_eos([5, 1, 6, 1], 4, 1) == 2
    assert selection.end_at_eos([5, 6, 1, 7], 2, 1) is None
    assert selection.end_at_eos([1, 1], 1, 1) == 1


def test_an_infill_round_always_makes_progress_and_goes_on_over_passing_tokens():
    assert selection.grow_run(2, [0.1, 0.9, 0.9, 0.1], 0.5) == (5, True)
    assert selection.grow_run(2, [0.9, 0.1], 0.5) == (3, False)
    assert selection.grow_run(3, [0.1], 0.5) == (4, True)


def test_text_ends_at_the_first_eos_in_position_order_not_commit_order():
    assert selection.text_end([9, 1, 1], [4, 9, 6], 1) == 6
    assert selection.text_end([9], [4], 1) is None
