//! A session of a drive that serves in order takes requests by turns: what is refused, interrupted or beyond all bounds on the way.

use serde_json::{json, Value};
use sledsim::engine::Status;
use sledsim::limits::PARTS_UNDER_WAY;
use sledsim::request::Request;
use sledsim::scenario::{Keep, Scenario, Session};
use sledsim::time::Time;
use sledsim_testing::scenarios::resolved;

const CHECKED: Keep = Keep { log: true, timeline: None, check: true };

fn drive(device: &Value) -> Scenario {
    resolved(&json!({"workload": {"kind": "session"}, "system": {"device": device}}))
}

/// A drive whose every request takes a millisecond.
fn of_a_millisecond() -> Scenario {
    drive(&json!({"name": "simpledisk-constant", "access_ms": 1.0}))
}

fn ms(ms: u64) -> Time {
    Time::from_ns(ms * 1_000_000)
}

/// When those that came back did, with their numbers.
fn came_back(session: &mut Session) -> Vec<(Time, u64)> {
    std::iter::from_fn(|| session.completion()).map(|it| (it.service.end, it.request.id)).collect()
}

/// More handed in than may be under way is fine as long as what has come back makes room: where they arrive in 2 ms, two have.
#[test]
fn a_session_falls_behind_by_what_is_under_way_and_not_by_what_is_handed_in() {
    let scenario = resolved(&json!({
        "workload": {"kind": "session"}, "system": {"device": {"name": "simpledisk-constant", "access_ms": 1.0}},
    }));
    let most = PARTS_UNDER_WAY.most;
    for (apart_ns, more) in [(1_000_000, 9), (1, 2), (1, 3)] {
        let mut session = Session::new(&scenario, &Keep::default()).expect("a drive");
        for number in 0..most + more {
            let arrival = Time::from_ns(number * apart_ns);
            session.submit(Request { arrival, ..Request::read(number, 1) }).expect("in order");
        }
        let drained = session.drain(&mut |_| true);
        if more != 3 {
            assert!(drained.expect("all come back"));
            assert_eq!(session.now(), Time::from_ns(1_000_000 * (most + more)));
        } else {
            let told = drained.expect_err("too many").to_string();
            assert!(told.contains("fallen far behind"), "{told}");
        }
    }
}

#[test]
fn a_request_at_the_end_of_time_is_refused_with_a_word_on_it() {
    for device in [json!("g2"), json!({"name": "g2", "overhead_ms": 0.0})] {
        let scenario = resolved(&json!({"workload": {"kind": "session"}, "system": {"device": device}}));
        for earlier in [0, 1] {
            let mut session = Session::new(&scenario, &Keep::default()).expect("a drive");
            for arrival in [Time::ZERO, Time::from_ns(u64::MAX)].into_iter().skip(1 - earlier) {
                session.submit(Request { arrival, ..Request::read(7, 8) }).expect("in order");
            }
            let told = session.drain(&mut |_| true).expect_err("beyond the horizon").to_string();
            assert!(told.contains("simulated time goes beyond"), "{told}");
            assert_eq!(session.completion().is_some(), earlier == 1, "those before are served");
            let told = session.advance(Time::from_ns(u64::MAX), &mut |_| true).expect_err("once more").to_string();
            assert!(told.contains("simulated time goes beyond"), "{told}");
        }
    }
}

/// Where one is refused while others wait, and a flush comes after them, all come back in the order of time.
#[test]
fn what_has_no_turn_comes_back_in_its_order_too() {
    let mut session = Session::new(&drive(&json!("g2")), &CHECKED).expect("a drive");
    let beyond = session.capacity_blocks();
    let at = |us: u64| Time::from_ns(us * 1000);
    for (us, lbn) in [(0, 0), (0, beyond / 2), (100, 5), (3_000_000, 9)] {
        session.submit(Request { arrival: at(us), ..Request::read(lbn, 8) }).expect("in order");
        session.advance(at(us), &mut |_| true).expect("forwards");
        if us == 100 {
            session.submit(Request { arrival: at(us), ..Request::read(beyond, 8) }).expect("it comes back refused");
            session.submit(Request { arrival: at(us), ..Request::read(6, 8) }).expect("in order");
            session.submit(Request { arrival: at(us + 1), ..Request::flush() }).expect("in order");
        }
    }
    session.drain(&mut |_| true).expect("all come back");
    let mut came = Vec::new();
    while let Some(completion) = session.completion() {
        came.push((completion.service.end, completion.request.id, completion.status));
    }
    assert!(came.is_sorted_by_key(|&(end, ..)| end), "{came:?}");
    let order: Vec<u64> = came.iter().map(|&(_, id, _)| id).collect();
    assert_eq!(order, [3, 5, 0, 1, 2, 4, 6]);
    let refused: Vec<u64> = came.iter().filter(|(.., status)| *status == Status::Refused).map(|it| it.1).collect();
    assert_eq!(refused, [3]);
}

/// Whoever interrupts it finds a whole state, from which it goes on by turns or by events.
#[test]
fn an_interrupted_session_loses_nothing() {
    let scenario = of_a_millisecond();
    let beyond = |session: &Session| Request { arrival: session.now(), ..Request::read(session.capacity_blocks(), 1) };
    for (by_events, looked_at) in [(false, false), (true, false), (true, true), (false, true)] {
        let mut session = Session::new(&scenario, &CHECKED).expect("a drive");
        for number in 0..200 {
            let arrival = Time::from_ns(number);
            session.submit(Request { arrival, ..Request::read(number, 1) }).expect("in order");
        }
        assert!(!session.advance(ms(150), &mut |_| false).expect("no fault"), "it is interrupted");
        let now = session.now();
        assert!(ms(1) < now && now < ms(150) && session.under_way() > 100, "{now:?}");
        if looked_at {
            let report = session.result(Vec::new()).expect("a result so far").report;
            assert_eq!(report.requests.in_flight, session.under_way());
        }
        if by_events {
            session.submit(beyond(&session)).expect("it comes back refused");
        }
        assert!(session.drain(&mut |_| true).expect("the rest"));
        assert_eq!((session.now(), session.under_way()), (ms(200), 0));
        let served = came_back(&mut session).into_iter().filter(|&(_, id)| id < 200);
        assert!(served.eq((0..200).map(|id| (ms(id + 1), id))));
    }
}

/// What can't be served is told no earlier and no later by a drive that is at rest.
#[test]
fn what_is_refused_at_rest_comes_back_in_its_order() {
    let mut session = Session::new(&of_a_millisecond(), &CHECKED).expect("a drive");
    let beyond = session.capacity_blocks();
    for (at_us, lbn) in [(0, 0), (500, beyond), (700, 1)] {
        let arrival = Time::from_ns(at_us * 1000);
        session.submit(Request { arrival, ..Request::read(lbn, 1) }).expect("in order");
    }
    assert!(session.drain(&mut |_| true).expect("all come back"));
    assert_eq!(came_back(&mut session), [(Time::from_ns(500_000), 1), (ms(1), 0), (ms(2), 2)]);
    let far = Time::from_ns(u64::MAX);
    session.submit(Request { arrival: ms(3), ..Request::read(beyond, 1) }).expect("in order");
    for lbn in [beyond, 1] {
        session.submit(Request { arrival: far, ..Request::read(lbn, 1) }).expect("in order");
    }
    for _ in 0..2 {
        let told = session.drain(&mut |_| true).expect_err("beyond the horizon").to_string();
        assert!(told.contains("simulated time goes beyond"), "{told}");
        assert_eq!(session.now(), ms(3), "nothing has happened since");
    }
}

/// It has done no more by then than there was time for.
#[test]
fn a_session_that_has_fallen_behind_has_not_run_ahead() {
    let mut session = Session::new(&of_a_millisecond(), &Keep::default()).expect("a drive");
    for number in 0..PARTS_UNDER_WAY.most + 3 {
        let arrival = Time::from_ns(number);
        session.submit(Request { arrival, ..Request::read(number, 1) }).expect("in order");
    }
    session.drain(&mut |_| true).expect_err("too many are under way");
    let report = session.result(Vec::new()).expect("a result").report;
    assert_eq!((report.utilisation.fraction, report.requests.completed), (1.0, 2));
    let states = serde_json::to_value(&report.state_time).expect("times");
    let total_s: f64 = states.as_object().expect("by state").values().filter_map(Value::as_f64).sum();
    assert!(total_s <= 3e-3 + 1e-9, "{total_s} s of work by {:?}", session.now());
}
