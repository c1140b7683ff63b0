import{C as e,b as t,d as n,g as r,i,m as a,s as o,t as s,v as c,w as l,x as u}from"./jsxRuntime.js";import{C as d,d as f,i as p,l as m,m as h,n as g,p as _,r as v,u as y,v as b}from"./words.js";import{n as x,t as ee}from"./who.js";import{a as S,i as C,n as w,p as T}from"./state.js";import{r as E}from"./asked.js";import{p as D}from"./index.js";import{t as O}from"./parts.js";import{n as k,t as A}from"./said.js";var j=b(`fragment Seen on Event { event at who why }`),M=b(`
  query Named(
    $servers: [Address!]!, $chips: [Address!]!, $switches: [Address!]!, $nics: [Address!]!
    $nodes: [Address!]!, $links: [Address!]!
  ) {
    events(last: 1) { nodes { event } }
    servers(filter: { address: { in: $servers } }, first: 400) {
      nodes { kind: __typename address state factor lastChange { ...Seen } chips(first: 64) { nodes { address state job } } }
    }
    chips(filter: { address: { in: $chips } }, first: 1000) {
      nodes { kind: __typename address state factor job lastChange { ...Seen } }
    }
    switches(filter: { address: { in: $switches } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
    nics(filter: { address: { in: $nics } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
    networkNodes(filter: { address: { in: $nodes } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
    links(filter: { address: { in: $links } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
  }
`,[j]),N=b(`
  mutation Set($input: SetStateInput!) {
    setState(input: $input) {
      changes {
        address before factorBefore after
        target {
          ... on Server { state lastChange { event } }
          ... on Chip { state lastChange { event } }
          ... on Switch { state lastChange { event } }
          ... on Nic { state lastChange { event } }
          ... on NetworkNode { state lastChange { event } }
          ... on Link { state lastChange { event } }
        }
      }
    }
  }
`),P=b(`
  fragment Able on CapabilityAnswer {
    chips idleLinks
    halves { exact upper { gigabytesPerSecond } }
  }
`),F=b(`
  query CapabilityIf($scope: Address!, $down: [Address!]!, $derate: [DeratingInput!]!) {
    whatIf(down: $down, derate: $derate) {
      capability(scope: $scope) { ...Able difference { incomparable } baseline { ...Able } }
    }
  }
`,[P]),I=b(`
  query FlowIf($from: Address!, $to: Address!, $down: [Address!]!, $derate: [DeratingInput!]!) {
    whatIf(down: $down, derate: $derate) {
      bandwidth(from: $from, to: $to) {
        maximumFlow { gigabytesPerSecond }
        baseline { maximumFlow { gigabytesPerSecond } }
      }
    }
  }
`),L=b(`
  query Brought($scope: Address!) {
    incidents(scope: $scope, first: 1) {
      nodes {
        id causes causeCount
        impact {
          domains {
            domain chipsBefore chipsNow idleLinksBefore idleLinksNow incomparable
            bisectionBefore { upper { gigabytesPerSecond } exact }
            bisectionNow { upper { gigabytesPerSecond } exact }
          }
        }
      }
    }
  }
`);function R(e){let[t,n,r,i]=[/\/s\d+$/,/\/c\d+$/,/\/sw\d+$/,/\/efa\d+$/].map(t=>e.filter(e=>!e.includes(`--`)&&t.test(e))),a=e.filter(e=>e.includes(`--`)),o=new Set([t,n,r,i,a].flat());return{servers:t,chips:n,switches:r,nics:i,nodes:e.filter(e=>!o.has(e)),links:a}}var z=e=>[...e.servers.nodes,...e.chips.nodes,...e.switches.nodes,...e.nics.nodes,...e.networkNodes.nodes,...e.links.nodes],B={Nic:`NIC`,NetworkNode:`network node`};function V(e){let t=new Map;for(let{kind:n}of e)t.set(n,(t.get(n)??0)+1);return[...t].map(([e,t])=>v(t,B[e]??e.toLowerCase())).join(`, `)}var H=(e,t)=>`Set ${V(e)} to ${t}`;function U(e){let t=e.flatMap(e=>`chips`in e?e.chips.nodes:`job`in e?[e]:[]);return new Map(t.map(e=>[e.address,e]))}var W=({lastChange:e})=>e?.event??0;function G(e,t){for(let n of t)e.has(n.address)||e.set(n.address,{state:n.state,event:W(n)})}var K=(e,t)=>t.filter(t=>e.get(t.address)?.event!==W(t)),q=[`up`,`degraded`];function te(e,t,n){let r=!q.includes(t),i=e.filter(({state:e})=>q.includes(e));if(r)return{down:i.map(({address:e})=>e),derate:[]};let a=e=>n/(e.factor??1);return i.length===e.length&&t===`degraded`&&e.every(e=>a(e)<=1)?{down:[],derate:e.filter(e=>a(e)<1).map(e=>({address:e.address,factor:a(e)}))}:null}function ne(e){let t=new Map;for(let n of e){let e=`${+!!/\/s\d+$/.test(n.address)} ${n.before} ${n.factorBefore}`;t.set(e,[...t.get(e)??[],n])}return[...t].sort(([e],[t])=>e<t?-1:1).map(([,e])=>e)}var J=2;function re({things:e,to:t,factor:n,route:r}){let{reached:i}=a(),o=te(e,t,n),c=[...new Set(e.map(({address:e})=>D(e)))].filter(Boolean),l=o&&!o.down.length&&!o.derate.length;return s(`section`,{class:`would`,"aria-label":`What this would change`,children:[s(`h3`,{children:[`What this would change `,s(`span`,{class:`quiet`,children:[`as of `,S(i),` UTC`]})]}),l&&s(`p`,{class:`quiet`,children:`No effect on capacity.`}),o&&!l&&c.slice(0,J).map(e=>s(ie,{domain:e,supposed:o,route:r},e)),o&&!l&&c.length>J&&s(`p`,{class:`quiet`,children:[`and `,v(c.length-J,`more domain`)]}),o&&!c.length&&!l&&s(`p`,{class:`quiet`,children:`Not in a scale-up domain, so no NeuronLink changes.`}),!o&&s(ae,{things:e,to:t}),s(oe,{things:e,to:t})]})}function Y({name:e,before:t,now:n,unit:r=``,isBad:i=!1,incomparable:a}){let o=n-t,c=a?`not comparable: ${a}`:p(t,n)||`no change`;return s(`div`,{children:[s(`dt`,{children:e}),s(`dd`,{children:[s(O,{now:`${m(n)}${r}`,before:m(t)+(o?``:r)}),s(`span`,{class:o<0!==i&&o&&!a?`less`:`quiet`,children:c})]})]})}function X({of:e,children:t}){return e.error?s(`p`,{class:`failure`,children:e.error.message}):e.data===void 0?e.loading?s(`p`,{class:`quiet`,children:`Computing…`}):null:s(`dl`,{class:e.loading?`figures stale`:`figures`,"aria-busy":e.loading,children:t(e.data)})}function ie({domain:t,supposed:n,route:r}){let{from:i,to:a}=r.view===`domain`&&r.of===t?r.options:{},o=i&&a?{from:f(t,i),to:f(t,a)}:null,c=d(h(F,{scope:t,...n})),l=d(o&&h(I,{...o,...n}));return s(e,{children:[s(X,{of:c,children:({whatIf:{capability:e}})=>e.baseline&&s(Z,{domain:t,chips:[e.baseline.chips,e.chips],links:[e.baseline.idleLinks,e.idleLinks],halves:[e.baseline.halves,e.halves],incomparable:e.difference?.incomparable})}),o&&s(X,{of:l,children:({whatIf:{bandwidth:e}})=>s(Y,{name:`Maximum flow ${g(t,o.from)} to ${g(t,o.to)}`,before:e.baseline?.maximumFlow.gigabytesPerSecond??0,now:e.maximumFlow.gigabytesPerSecond,unit:` GB/s`})})]})}function Z({domain:t,chips:n,links:r,halves:[i,a],incomparable:o}){return s(e,{children:[s(Y,{name:`Working chips in ${t}`,before:n[0],now:n[1]}),s(Y,{name:`Idle links`,before:r[0],now:r[1],isBad:!0}),s(Y,{name:i.exact&&a.exact?`Bisection`:`Bisection, at most`,before:i.upper.gigabytesPerSecond,now:a.upper.gigabytesPerSecond,unit:` GB/s`,incomparable:o})]})}function ae({things:e,to:t}){let n=e.find(({state:e})=>e!==`up`)?.address,r=d(t===`up`&&n?h(L,{scope:n}):null),i=new Set(e.map(({address:e})=>e));return t!==`up`||!n?s(`p`,{class:`quiet`,children:`Capacity will increase. The numbers are known once the state is set.`}):s(X,{of:r,children:({incidents:{nodes:e}})=>{let t=e[0];return t?t.causeCount>t.causes.length||!t.causes.every(e=>i.has(e))?s(`p`,{class:`quiet`,children:[`Part of incident `,t.id,`, which has `,v(t.causeCount,`cause`),`. What the other causes took down stays down.`]}):t.impact.domains.map(e=>s(Z,{domain:e.domain,chips:[e.chipsNow,e.chipsBefore],links:[e.idleLinksNow,e.idleLinksBefore],halves:[e.bisectionNow,e.bisectionBefore],incomparable:e.incomparable},e.domain)):s(`p`,{class:`quiet`,children:`Not part of an incident.`})}})}function oe({things:e,to:t}){let n=new Map;for(let{address:t,job:r}of U(e).values())r&&n.set(r,[...n.get(r)??[],t]);return t===`up`?null:s(`ul`,{class:`plain`,children:[...n].map(([e,t])=>s(`li`,{children:[s(w,{state:`degraded`}),` job `,e,` uses `,m(t.length),` of these chips`,` `,s(`a`,{href:i(`jobs`,``,{in:D(t[0]??``),fit:`chips:${t.length}`}),target:`_blank`,rel:`noopener`,children:`Find another placement`})]},e))})}var Q=e=>Math.max(0,...e.map(({target:e})=>`lastChange`in e?e.lastChange?.event??0:0)),se=e=>k({says:e.says,undo:e.changes.length?()=>ce(e):void 0});async function ce({changes:e,why:t,who:n}){let i=Q(e);for(let a of ne(e)){let e={addresses:a.map(({address:e})=>e),state:a[0]?.before.toUpperCase(),factor:a[0]?.factorBefore??null,why:`undone: ${t}`.slice(0,1e3),who:n,unchangedSince:i},{setState:o}=await _({...h(N,{input:e}),at:``});r(Q(o.changes))}}var le=[`up`,`degraded`,`down`,`maintenance`],$=1e3;function ue(e){if(!e.places.length||document.querySelector(`dialog.change`))return;A();let t=document.body.appendChild(document.createElement(`div`));l(s(de,{change:e,close:()=>{l(null,t),t.remove()}}),t)}function de({change:e,close:i}){let a=t(null),l=t(new Map),f=o(),p=E(),[g,v]=u(()=>[...new Set(e.places)]),[y,b]=u(e.state),[S,w]=u(String(e.factor??.5)),[T,D]=u(``),[O,k]=u(!1),A=d(h(M,R(g))),j=A.data?z(A.data):[];G(l.current,j);let P=K(l.current,j),F=U(j).size,I=Number(S),L=!A.loading&&j.length>0&&j.length<g.length;return c(()=>{a.current?.showModal(),a.current?.querySelector(`[name=why]`)?.focus()},[]),s(`dialog`,{class:`change`,ref:a,"aria-labelledby":`change`,onClose:i,children:s(`form`,{onSubmit:async e=>{e.preventDefault();let t=new FormData(e.target),i=String(t.get(`why`)),o=x(t,p);k(!0),D(``);let s={addresses:j.map(({address:e})=>e),state:y.toUpperCase(),factor:y===`degraded`?I:null,why:i,who:o,unchangedSince:A.data?.events.nodes[0]?.event??0};try{let{setState:e}=await _({...h(N,{input:s}),at:``});a.current?.close(),r(Q(e.changes)),se({says:fe(j,e.changes,y),why:i,who:o,changes:e.changes})}catch(e){let{code:t,message:r}=e;D(r),t===`CONFLICT`&&n(),k(!1)}},children:[s(`header`,{children:[s(`h2`,{id:`change`,children:`Set state`}),s(`button`,{type:`button`,class:`square`,"aria-label":`Close`,onClick:()=>a.current?.close(),children:s(`span`,{"aria-hidden":`true`,children:`×`})})]}),s(`div`,{class:`body`,children:[s(pe,{things:A.error||!A.data?g.map(e=>({address:e})):j,places:g,set:v}),L&&s(`p`,{class:`failure`,role:`alert`,children:[`Only `,m(j.length),` of `,m(g.length),` parts were loaded. Set fewer at once.`]}),A.error&&s(`p`,{class:`failure`,role:`alert`,children:A.error.message}),s(`fieldset`,{class:`to`,children:[s(`legend`,{children:`New state`}),le.map(e=>s(`label`,{class:e,children:[s(`input`,{type:`radio`,name:`to`,value:e,checked:e===y,onChange:()=>b(e)}),s(C,{state:e,children:e})]},e))]}),y===`degraded`&&s(`label`,{children:[`Remaining capacity, between 0 and 1`,s(`input`,{type:`number`,name:`factor`,required:!0,min:`0.000001`,max:`0.999999`,step:`any`,value:S,onInput:e=>w(e.currentTarget.value)})]}),s(`label`,{children:[`Reason, kept with the change`,s(`input`,{name:`why`,required:!0,maxLength:$,pattern:`.*\\S.*`,title:`A reason`,autocomplete:`off`})]}),s(ee,{viewer:p,most:$}),j.length>0&&(y!==`degraded`||I>0&&I<1)&&s(re,{things:j,to:y,factor:I,route:f}),F>16&&s(`label`,{children:[`This affects `,m(F),` chips. Type the number to confirm`,s(`input`,{name:`count`,required:!0,inputMode:`numeric`,autocomplete:`off`,pattern:String(F),title:String(F)})]}),P.length>0&&s(me,{things:P,seen:l.current}),T&&!P.length&&s(`p`,{class:`failure`,role:`alert`,children:T})]}),s(`footer`,{children:[s(`span`,{class:`quiet`,children:[p?.name?`As ${p.name} · takes`:`Takes`,` effect immediately`]}),s(`button`,{type:`button`,onClick:()=>a.current?.close(),children:`Cancel`}),s(`button`,{type:`submit`,"data-writes":!0,class:y===`up`?`main`:`main ${y}`,disabled:O||!p||A.loading||!j.length||L,children:H(j,y)})]})]})})}function fe(e,t,n){if(!t.length)return`No change: ${V(e)} already ${T(n)}`;let r=t.filter(({after:e,target:t})=>`state`in t&&t.state!==e).length,i=r?`; ${m(r)} will be ${T(n)} once the server is`:``;return`${V(e)} set to ${n}${i}`}function pe({things:e,places:t,set:n}){let[r,i]=u(!1),a=e=>{let r=e.value.trim().toLowerCase();r&&n([...new Set([...t,r])]),i(!1)};return s(`div`,{class:`what`,children:[s(`h3`,{children:`Parts`}),s(`ul`,{children:[e.slice(0,8).map(({address:e,state:r})=>s(`li`,{children:[s(`strong`,{children:y(e)}),` `,r&&s(C,{state:r}),t.length>1&&s(`button`,{type:`button`,class:`plain`,"aria-label":`Remove ${e}`,onClick:()=>n(t.filter(t=>t!==e)),children:`×`})]},e)),e.length>8&&s(`li`,{class:`quiet`,children:[`and `,m(e.length-8),` more`]}),s(`li`,{children:r?s(`input`,{"aria-label":`Another address`,ref:e=>e?.focus(),spellcheck:!1,autocomplete:`off`,onKeyDown:e=>{(e.key===`Enter`||e.key===`Escape`)&&(e.preventDefault(),e.key===`Escape`&&(e.currentTarget.value=``),a(e.currentTarget))},onBlur:e=>a(e.currentTarget)}):s(`button`,{type:`button`,class:`plain`,onClick:()=>i(!0),children:`+ Add`})})]})]})}function me({things:e,seen:t}){return s(`div`,{class:`conflict`,role:`alert`,children:[s(`strong`,{children:`Changed since you opened this dialog`}),s(`ul`,{class:`plain`,children:e.map(({address:e,state:n,lastChange:r})=>s(`li`,{children:[s(w,{state:n}),` `,y(e),` was `,t.get(e)?.state,`, now `,T(n),r&&`, ${S(r.at)} UTC, ${r.who}: ${r.why}`]},e))}),s(`label`,{children:[s(`input`,{type:`checkbox`,required:!0}),` Set anyway`]},e.map(({lastChange:e})=>e?.event).join())]})}export{ue as open};